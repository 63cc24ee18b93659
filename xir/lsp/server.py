"""The language server: what the other files of this folder find, in the terms of the Language Server Protocol, 3.17."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from xir import __version__
from xir.lsp.analysis import Problem
from xir.lsp.completion import CompletionChoice, What, complete, documentation
from xir.lsp.document import Document, FilePart
from xir.lsp.hover import hover
from xir.lsp.names import Occurrences, name_at, occurrences
from xir.lsp.outline import OutlineEntry, outline
from xir.lsp.places import Places
from xir.lsp.tokens import Token

_PAUSE = 0.2
"""Seconds without a change before errors are shown."""

_KINDS = {
    What.OP: types.CompletionItemKind.Function,
    What.VALUE: types.CompletionItemKind.Variable,
    What.SYMBOL: types.CompletionItemKind.Method,
    What.TYPE: types.CompletionItemKind.Class,
    What.ATTRIBUTE: types.CompletionItemKind.Struct,
    What.PROPERTY: types.CompletionItemKind.Property,
    What.PASS: types.CompletionItemKind.Module,
}


@dataclass(frozen=True)
class _Place:
    """A place in a file: the part that it is in, and its offset there."""

    uri: str
    places: Places
    part: FilePart
    offset: int

    def location(self, token: Token) -> types.Location:
        """Where a token of this part is."""
        return types.Location(self.uri, self.range(token.start, token.end))

    def range(self, start: int, end: int) -> types.Range:
        """The range between two offsets of this part."""
        return self.places.range(self.part.start + start, self.part.start + end)


class XirLanguageServer(LanguageServer):
    """A server, and the files that are open in its client."""

    def __init__(self) -> None:
        super().__init__("xir-lsp", __version__)
        self._documents: dict[str, Document] = {}

    def document(self, uri: str) -> tuple[Document, Places]:
        """A file with its present text."""
        text = self.workspace.get_text_document(uri)
        document = self._documents.setdefault(uri, Document())
        document.update(text.source)
        return document, Places(text.source, text.position_codec)

    def place(self, uri: str, position: types.Position) -> _Place:
        """What a request points at."""
        document, places = self.document(uri)
        offset = places.offset(position)
        part = document.part_at(offset)
        return _Place(uri, places, part, offset - part.start)

    def forget(self, uri: str) -> None:
        """A file was closed: its errors go away."""
        self._documents.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def text_version(self, uri: str) -> int | None:
        """The client's version of a file's text; None for one that is not open."""
        documents = self.workspace.text_documents
        return documents[uri].version if uri in documents else None

    def publish(self, uri: str) -> None:
        """Show what is wrong in a file."""
        document, places = self.document(uri)
        found = [_diagnostic(problem, uri, places) for problem in document.problems()]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, self.text_version(uri)))


def make_server() -> XirLanguageServer:
    """A server that is ready to start."""
    server = XirLanguageServer()
    _add_documents(server)
    _add_names(server)
    _add_texts(server)
    return server


def _add_documents(server: XirLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        await asyncio.sleep(_PAUSE)
        if server.text_version(uri) == params.text_document.version:
            server.publish(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _add_names(server: XirLanguageServer) -> None:
    def found(uri: str, position: types.Position) -> tuple[_Place, Occurrences]:
        place = server.place(uri, position)
        token = name_at(place.part.analysis, place.offset)
        return place, Occurrences([], []) if token is None else occurrences(place.part.analysis, token)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        place, names = found(params.text_document.uri, params.position)
        return [place.location(token) for token in names.definitions]

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(params: types.ReferenceParams) -> list[types.Location]:
        place, names = found(params.text_document.uri, params.position)
        left_out = [] if params.context.include_declaration else names.definitions
        return [place.location(token) for token in names.all if token not in left_out]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        place, names = found(params.text_document.uri, params.position)
        return [
            types.DocumentHighlight(
                place.range(token.start, token.end),
                types.DocumentHighlightKind.Write if token in names.definitions else types.DocumentHighlightKind.Read,
            )
            for token in names.all
        ]


def _add_texts(server: XirLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        place = server.place(params.text_document.uri, params.position)
        shown = hover(place.part.analysis, place.offset)
        if shown is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, shown.text)
        return types.Hover(content, place.range(shown.start, shown.end))

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=[".", "%", "@", "!", "#", "{", "-"], resolve_provider=True),
    )
    def completed(params: types.CompletionParams) -> types.CompletionList:
        place = server.place(params.text_document.uri, params.position)
        choices = complete(place.part.analysis, place.offset)
        return types.CompletionList(is_incomplete=False, items=[_item(choice, place) for choice in choices])

    @server.feature(types.COMPLETION_ITEM_RESOLVE)
    def resolved(item: types.CompletionItem) -> types.CompletionItem:
        if item.kind == _KINDS[What.OP]:
            item.documentation = types.MarkupContent(types.MarkupKind.Markdown, documentation(item.label))
        return item

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document, places = server.document(params.text_document.uri)
        return [each for part in document.parts for each in _symbols(outline(part.analysis), part.start, places)]


def _diagnostic(problem: Problem, uri: str, places: Places) -> types.Diagnostic:
    notes = [
        types.DiagnosticRelatedInformation(types.Location(uri, places.range(note.start, note.end)), note.message)
        for note in problem.notes
    ]
    return types.Diagnostic(
        places.range(problem.start, problem.end),
        problem.message,
        types.DiagnosticSeverity.Error,
        source="xir",
        related_information=notes or None,
    )


def _item(choice: CompletionChoice, place: _Place) -> types.CompletionItem:
    return types.CompletionItem(
        choice.text,
        kind=_KINDS[choice.what],
        detail=choice.detail or None,
        filter_text=choice.text,
        text_edit=types.TextEdit(place.range(choice.start, choice.end), choice.text),
    )


def _symbols(entries: Iterable[OutlineEntry], start: int, places: Places) -> list[types.DocumentSymbol]:
    return [
        types.DocumentSymbol(
            entry.name.removeprefix("@"),
            types.SymbolKind.Function,
            places.range(start + entry.start, start + entry.end),
            places.range(start + entry.name_start, start + entry.name_end),
            detail=entry.op,
            children=_symbols(entry.children, start, places),
        )
        for entry in entries
    ]
