"""`xir-lsp`: a language server for MLIR text with xir's dialects, over standard input and output (docs/editors.md)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from xir import __version__
from xir.plugin_loading import PLUGIN_HELP, PluginError, load_installed_plugins, load_named_plugins
from xir.tools.command_line import ArgumentParser, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client ends it; the arguments are the process's unless given. Returns the exit code."""
    try:
        load_installed_plugins()
        arguments = load_named_plugins(sys.argv[1:] if argv is None else argv)
    except PluginError as error:
        return _fail(str(error))
    try:
        _parse(arguments)
    except UsageError as error:
        return _fail(str(error))
    try:
        from xir.lsp.server import make_server
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in ("pygls", "lsprotocol"):
            raise
        return _fail(f"'{package}' is not installed: pip install 'xir[lsp]'")
    make_server().start_io()
    return 0


def _parse(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(
        prog="xir-lsp",
        description="A language server for MLIR text with xir's dialects. Editors start it and use its standard input "
        "and output; docs/editors.md shows how to set them up.",
        allow_abbrev=False,
    )
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (always the case)")
    # Taken out before; here for the help.
    parser.add_argument("--load-plugin", metavar="FILE|MODULE", help=PLUGIN_HELP)
    parser.add_argument("--version", action="version", version=f"xir {__version__}")
    parser.parse_args(arguments)


def _fail(message: str) -> int:
    sys.stderr.write(f"xir-lsp: error: {message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
