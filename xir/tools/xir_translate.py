"""`xir-translate`: between `.pt2` files, MLIR text and `.pte` files, and the kernels that these need.

Flags and errors follow `mlir-translate`.

Nothing of the compiler is imported before the arguments are understood, and torch only for `--pt2-to-mlir`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from xir.files import atomic_file
from xir.plugin_loading import PLUGIN_HELP, PluginError, load_installed_plugins, load_named_plugins
from xir.tools.command_line import ArgumentParser, UsageError
from xir.tools.missing_packages import missing_package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.emitter.codec import Buffer
    from xir.ir.context import XirContext

STDIO = "-"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xir-translate` with arguments (default: the process's). Returns the exit code: 1 on error, 70 on a bug."""
    try:
        arguments = load_named_plugins(sys.argv[1:] if argv is None else argv)
        options = _argument_parser().parse_args(arguments)
        load_installed_plugins()
    except (UsageError, PluginError) as error:
        return _fail(f"xir-translate: error: {error}")
    except SystemExit as error:
        return int(error.code or 0)
    from xir.emitter.errors import FormatError
    from xir.ir.diagnostics import DiagnosticError

    try:
        if len(options.inputs) > 1 and options.translation != "needed-kernels":
            raise UsageError(f"--{options.translation} takes one file, not {len(options.inputs)}")
        options.input = options.inputs[0] if options.inputs else STDIO
        _TRANSLATIONS[options.translation](options)
    except UsageError as error:
        return _fail(f"xir-translate: error: {error}")
    except FormatError as error:
        return _fail(f"{_shown(options.input)}: error: {error}")
    except DiagnosticError as error:
        return _fail(str(error.diagnostic))
    except BrokenPipeError:
        # The reader (`head`, a closed pager) has what it wants.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-translate", sys.stderr)
    return 0


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


def _shown(path: str) -> str:
    return "<stdin>" if path == STDIO else path


def _argument_parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="xir-translate",
        description="Translate between PyTorch's .pt2 files, MLIR text, and ExecuTorch's .pte files. --needed-kernels "
        "takes several.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "inputs", nargs="*", metavar="input", help="the file to read; - is standard input (default)"
    )  # fmt: skip
    parser.add_argument(
        "-o", dest="output", default=STDIO, metavar="FILE", help="the file to write; - is standard output"
    )
    direction = parser.add_mutually_exclusive_group(required=True)
    for flag, text in (
        ("pt2-to-mlir", "import a program from torch.export.save into the edge dialect (needs torch)"),
        ("mlir-to-pte", "write a module with a pte.program as a .pte file"),
        ("pte-to-mlir", "read a .pte file, from xir or ExecuTorch, into the pte and xnnpack dialects"),
        ("needed-kernels", "print the portable kernels that .pte files call, as CMake's XIR_KERNELS takes them"),
    ):
        direction.add_argument(f"--{flag}", dest="translation", action="store_const", const=flag, help=text)
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    parser.add_argument(
        "--print-resources",
        action="store_true",
        help="print the data of resources on a terminal too (default: only to files and pipes)",
    )
    parser.add_argument(
        "--mlir-elide-resource-strings-if-larger", type=int, metavar="N",
        help="print only the data of resources whose text has at most N characters",
    )  # fmt: skip
    parser.add_argument(
        "--debug-info", action="store_true", help="write debug information from the locations into the .pte file"
    )
    parser.add_argument("--mlir-print-op-generic", action="store_true", help="print every operation in generic form")
    parser.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations")
    return parser


# --- Translations ------------------------------------------------------------------------------------------------


def _pt2_to_mlir(options: argparse.Namespace) -> None:
    try:
        from xir.importer import import_pt2
    except ModuleNotFoundError as error:
        raise UsageError(missing_package(error, "reading .pt2 files")) from error
    from xir.ir.context import XirContext

    ctx = XirContext()
    with _input_path(options.input, ".pt2") as path:
        module = import_pt2(path, ctx)
        _write_text(module, ctx, options)


def _mlir_to_pte(options: argparse.Namespace) -> None:
    from xir.emitter import emit
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import stream_handler
    from xir.ir.parser import parse_module
    from xir.ir.verifier import verify

    ctx = XirContext()
    try:
        text = bytes(_read_bytes(options.input)).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"'{options.input}' is not UTF-8 text: byte {error.start} is no part of a character"
        ) from error
    with ctx.diagnostics.handler(stream_handler(sys.stderr, {_shown(options.input): text})):
        module = parse_module(ctx, text, _shown(options.input))
        verify(module)
        with _output(options.output) as stream:
            emit(module, ctx, stream, debug_info=options.debug_info)


def _pte_to_mlir(options: argparse.Namespace) -> None:
    from xir.emitter import read
    from xir.ir.context import XirContext

    ctx = XirContext()
    _write_text(read(_read_bytes(options.input), ctx), ctx, options)


def _needed_kernels(options: argparse.Namespace) -> None:
    from xir.emitter.needed_kernels import needed_kernels, runtime_kernels

    needed: set[str] = set()
    for path in options.inputs or [STDIO]:
        options.input = path  # which an error is of
        called = needed_kernels(_read_bytes(path))
        for name in sorted(called - runtime_kernels()):
            sys.stderr.write(
                f"{_shown(path)}: warning: '{name}' is no kernel of the runtime: "
                "the application or a library has to provide it\n"
            )
        needed |= called & runtime_kernels()
    with _output(options.output) as stream:
        stream.write(f"{';'.join(sorted(needed))}\n".encode())


_TRANSLATIONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "pt2-to-mlir": _pt2_to_mlir,
    "mlir-to-pte": _mlir_to_pte,
    "pte-to-mlir": _pte_to_mlir,
    "needed-kernels": _needed_kernels,
}


# --- Files -------------------------------------------------------------------------------------------------------


def _read_bytes(path: str) -> Buffer:
    """The input's bytes; a file is mapped."""
    from xir.emitter.container import map_file

    try:
        return sys.stdin.buffer.read() if path == STDIO else map_file(path)
    except OSError as error:
        raise UsageError(f"cannot open '{path}': {error.strerror}") from error


@contextmanager
def _input_path(path: str, suffix: str) -> Generator[str]:
    """A path to the input, for a reader that takes nothing else."""
    if path != STDIO:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(sys.stdin.buffer.read())
        file.flush()
        yield file.name


@contextmanager
def _output(path: str) -> Generator[IO[bytes]]:
    """The output; a file is there only once it is complete."""
    if path == STDIO:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with atomic_file(path) as file:
            yield file
    except OSError as error:
        raise UsageError(f"cannot write '{path}': {error.strerror}") from error


def _write_text(module: ModuleOp, ctx: XirContext, options: argparse.Namespace) -> None:
    import io

    from xir.ir.printer import PrintOptions, print_module

    print_options = PrintOptions(
        generic=options.mlir_print_op_generic,
        debuginfo=options.mlir_print_debuginfo,
        resources=options.print_resources or options.output != STDIO or not sys.stdout.isatty(),
        resource_digits_limit=options.mlir_elide_resource_strings_if_larger,
    )
    with _output(options.output) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
        print_module(module, text, ctx, print_options)
        # The stream is not ours to close.
        text.detach()


if __name__ == "__main__":
    sys.exit(main())
