"""`xir-lsp` as editors use it: a process that is talked to over pipes, by pygls's client."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from xir.tools.xir_lsp import main

ROOT = Path(__file__).parents[3]
URI = "file:///model.mlir"
TEXT = """// 𝒳 takes two units of UTF-16
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.rellu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""
Shown = asyncio.Queue[types.PublishDiagnosticsParams]


def talk(session: Callable[[LanguageClient, Shown], Awaitable[None]], *options: str) -> None:
    """Start a server, run a session with it, and see that it ends as it should."""

    async def run() -> None:
        client = LanguageClient("test", "0")
        shown = Shown()

        def show(params: types.PublishDiagnosticsParams) -> None:
            shown.put_nowait(params)

        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(show)

        await client.start_io(sys.executable, "-m", "xir.tools.xir_lsp", "--stdio", *options, cwd=ROOT)
        started = await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        assert started.server_info is not None
        assert started.server_info.name == "xir-lsp"
        client.initialized(types.InitializedParams())
        await session(client, shown)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()

    asyncio.run(asyncio.wait_for(run(), 60))


def open_file(client: LanguageClient, text: str = TEXT, uri: str = URI) -> types.TextDocumentIdentifier:
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "mlir", 1, text)))
    return types.TextDocumentIdentifier(uri)


def change(client: LanguageClient, version: int, text: str) -> None:
    whole = [types.TextDocumentContentChangeWholeDocument(text)]
    identifier = types.VersionedTextDocumentIdentifier(version, URI)
    client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, whole))


def position(line: int, of: str, after: int = 0) -> types.Position:
    return types.Position(line, TEXT.splitlines()[line].index(of) + after)


async def errors_come_as_one_types(client: LanguageClient, shown: Shown) -> None:
    file = open_file(client)
    (error,) = (await shown.get()).diagnostics
    assert error.message == "'edge.rellu': the dialect 'edge' has no such operation"
    assert error.range == types.Range(position(2, "edge"), position(2, "(%x)"))
    assert error.severity is types.DiagnosticSeverity.Error

    # Two changes, of which the first is gone before there was time to look at it.
    change(client, 2, TEXT.replace("rellu", "nothing"))
    change(client, 3, TEXT.replace("rellu", "relu"))
    changed = await shown.get()
    assert (changed.version, list(changed.diagnostics)) == (3, [])

    client.text_document_did_close(types.DidCloseTextDocumentParams(file))
    assert list((await shown.get()).diagnostics) == []


async def requests_are_answered(client: LanguageClient, shown: Shown) -> None:
    file = open_file(client, TEXT.replace("rellu", "relu"))
    assert list((await shown.get()).diagnostics) == []
    x, used = position(1, "%x"), position(2, "%x", -1)

    hovered = await client.text_document_hover_async(types.HoverParams(file, used))
    assert hovered is not None
    assert isinstance(hovered.contents, types.MarkupContent)
    assert "%x : tensor<4xf32>" in hovered.contents.value

    defined = await client.text_document_definition_async(types.DefinitionParams(file, used))
    assert defined == [types.Location(URI, types.Range(x, types.Position(x.line, x.character + 2)))]

    context = types.ReferenceContext(include_declaration=False)
    references = await client.text_document_references_async(types.ReferenceParams(context, file, x))
    assert [each.range.start for each in references or ()] == [used]

    lights = await client.text_document_document_highlight_async(types.DocumentHighlightParams(file, x))
    kinds = types.DocumentHighlightKind
    assert [light.kind for light in lights or ()] == [kinds.Write, kinds.Read]

    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(file))
    assert symbols is not None
    (function,) = symbols
    assert isinstance(function, types.DocumentSymbol)
    assert (function.name, function.range.end) == ("f", types.Position(4, 1))


async def ops_are_completed_with_their_documentation(client: LanguageClient, shown: Shown) -> None:
    file = open_file(client, uri="file:///other.mlir")
    assert len((await shown.get()).diagnostics) == 1
    at = position(2, "(%x)")
    params = types.CompletionParams(file, types.Position(at.line, at.character - 2))
    listed = await client.text_document_completion_async(params)
    assert isinstance(listed, types.CompletionList)
    (relu,) = [item for item in listed.items if item.label == "edge.relu"]
    assert isinstance(relu.text_edit, types.TextEdit)
    assert relu.text_edit.range.start == position(2, "edge")
    full = await client.completion_item_resolve_async(relu)
    assert isinstance(full.documentation, types.MarkupContent)
    assert "aten::relu(Tensor self) -> Tensor" in full.documentation.value


async def columns_are_counted_as_the_client_counts(client: LanguageClient, shown: Shown) -> None:
    open_file(client, 'func.func @f() {\n  "𝒳𝒳"() : () -> ()\n  func.return\n}\n', "file:///third.mlir")
    (error,) = (await shown.get()).diagnostics
    # Two characters of two units each, and the quotes.
    assert (error.range.start.character, error.range.end.character) == (2, 8)


async def dialects_of_plugins_are_known(client: LanguageClient, shown: Shown) -> None:
    open_file(client, "mine.hello\nmine.bye\n", "file:///fourth.mlir")
    messages = [problem.message for problem in (await shown.get()).diagnostics]
    assert messages == ["'mine.bye': the dialect 'mine' has no such operation"]


PLUGIN = """
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xir.dialects.registry import register_dialect

@irdl_op_definition
class Hello(IRDLOperation):
    name = "mine.hello"
    assembly_format = "attr-dict"

register_dialect("mine", lambda: Dialect("mine", [Hello]))
"""


def test_a_session(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)

    async def session(client: LanguageClient, shown: Shown) -> None:
        for part in (
            errors_come_as_one_types, requests_are_answered, ops_are_completed_with_their_documentation,
            columns_are_counted_as_the_client_counts, dialects_of_plugins_are_known,
        ):  # fmt: skip
            await part(client, shown)

    talk(session, "--load-plugin", str(plugin))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--load-plugin", "nothing.py"], "cannot load the plugin 'nothing.py'"),
    ],
)
def test_a_wrong_command_line_is_one_line(
    arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["xir-lsp", *arguments])
    try:
        code = main()
    except SystemExit as stop:
        code = stop.code
    assert code == 1
    error = capsys.readouterr().err
    assert error.startswith(f"xir-lsp: error: {told}")
    assert error.count("\n") == 1


def test_without_pygls_it_says_what_to_install() -> None:
    program = "import sys; sys.modules['pygls'] = None\nfrom xir.tools.xir_lsp import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "xir-lsp: error: 'pygls' is not installed: pip install 'xir[lsp]'\n"
