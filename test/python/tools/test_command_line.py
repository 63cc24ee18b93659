"""What a command line that is wrong is answered with."""

from __future__ import annotations

import re

import pytest

from xir.tools.command_line import ArgumentParser, UsageError


def parser() -> ArgumentParser:
    made = ArgumentParser(prog="tool")
    commands = made.add_subparsers()
    export = commands.add_parser("export")
    export.add_argument("--max-seq-len")
    run = commands.add_parser("run")
    run.add_argument("--max-seconds")
    return made


def required() -> ArgumentParser:
    made = ArgumentParser(prog="tool", allow_abbrev=False)
    made.add_argument("--model", required=True)
    made.add_argument("--strip-debug", action="store_true")
    return made


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (parser, "export --max-seqlen 8", "unrecognized arguments: --max-seqlen 8; did you mean '--max-seq-len'?"),
        (parser, "run --max-second=8", None),
        (parser, "run --max-seqlen 8", "unrecognized arguments: --max-seqlen 8"),
        (required, "--modle a", "arguments are required: --model; --modle is unknown; did you mean '--model'?"),
        (required, "--anything a", "the following arguments are required: --model"),
        (required, "--model a --strip", "unrecognized arguments: --strip; did you mean '--strip-debug'?"),
    ],
)
def test_a_misspelt_flag(make: type[ArgumentParser], arguments: str, message: str | None) -> None:
    if message is None:
        make().parse_args(arguments.split())
        return
    with pytest.raises(UsageError, match=f"{re.escape(message)}$"):
        make().parse_args(arguments.split())
