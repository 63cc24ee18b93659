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


def open_file(client: LanguageClient, text: str = TEXT) -> types.TextDocumentIdentifier:
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "mlir", 1, text)))
    return types.TextDocumentIdentifier(URI)


def change(client: LanguageClient, version: int, text: str) -> None:
    whole = [types.TextDocumentContentChangeWholeDocument(text)]
    identifier = types.VersionedTextDocumentIdentifier(version, URI)
    client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, whole))


def position(line: int, of: str, after: int = 0) -> types.Position:
    return types.Position(line, TEXT.splitlines()[line].index(of) + after)


def test_errors_come_as_one_types() -> None:
    async def session(client: LanguageClient, shown: Shown) -> None:
        open_file(client)
        opened = await shown.get()
        (error,) = opened.diagnostics
        assert error.message == "'edge.rellu': the dialect 'edge' has no such operation"
        assert error.range == types.Range(position(2, "edge"), position(2, "(%x)"))
        assert error.severity is types.DiagnosticSeverity.Error

        # Two changes, of which the first is gone before there was time to look at it.
        change(client, 2, TEXT.replace("rellu", "nothing"))
        change(client, 3, TEXT.replace("rellu", "relu"))
        changed = await shown.get()
        assert (changed.version, list(changed.diagnostics)) == (3, [])

        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
        assert list((await shown.get()).diagnostics) == []

    talk(session)


def test_requests_are_answered() -> None:
    async def session(client: LanguageClient, shown: Shown) -> None:
        file = open_file(client, TEXT.replace("rellu", "relu"))
        x = position(1, "%x")
        used = position(2, "%x", -1)

        hovered = await client.text_document_hover_async(types.HoverParams(file, used))
        assert hovered is not None
        assert isinstance(hovered.contents, types.MarkupContent)
        assert "%x : tensor<4xf32>" in hovered.contents.value

        defined = await client.text_document_definition_async(types.DefinitionParams(file, used))
        assert isinstance(defined, list)
        (location,) = defined
        assert isinstance(location, types.Location)
        assert location == types.Location(URI, types.Range(x, types.Position(x.line, x.character + 2)))

        context = types.ReferenceContext(include_declaration=False)
        references = await client.text_document_references_async(types.ReferenceParams(context, file, x))
        assert references is not None
        assert [each.range.start for each in references] == [used]

        lights = await client.text_document_document_highlight_async(types.DocumentHighlightParams(file, x))
        assert lights is not None
        assert [light.kind for light in lights] == [
            types.DocumentHighlightKind.Write,
            types.DocumentHighlightKind.Read,
        ]

        symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(file))
        assert symbols is not None
        (function,) = symbols
        assert function.name == "f"
        assert isinstance(function, types.DocumentSymbol)
        assert function.range.end == types.Position(4, 1)

    talk(session)


def test_ops_are_completed_with_their_documentation() -> None:
    async def session(client: LanguageClient, shown: Shown) -> None:
        file = open_file(client)
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

    talk(session)


def test_columns_are_counted_as_the_client_counts() -> None:
    async def session(client: LanguageClient, shown: Shown) -> None:
        text = 'func.func @f() {\n  "𝒳𝒳"() : () -> ()\n  func.return\n}\n'
        open_file(client, text)
        (error,) = (await shown.get()).diagnostics
        # Two characters of two units each, and the quotes.
        assert (error.range.start.character, error.range.end.character) == (2, 8)

    talk(session)


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


def test_dialects_of_plugins_are_known(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)

    async def session(client: LanguageClient, shown: Shown) -> None:
        open_file(client, "mine.hello\nmine.bye\n")
        messages = [problem.message for problem in (await shown.get()).diagnostics]
        assert messages == ["'mine.bye': the dialect 'mine' has no such operation"]

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
