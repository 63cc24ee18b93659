"""A lit format that runs `xir-opt ... | filecheck %s` inside the lit worker.

Starting Python and importing the compiler takes ten times longer than a typical test. A RUN line is run here if it
consists only of the tools below, pipes, and plain redirections; a test with any other RUN line goes to lit's own shell,
as do the tests in `smoke/`, which see to it that the tools work as programs.
"""

from __future__ import annotations

import io
import re
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import lit.formats
import lit.Test
import lit.TestRunner
from lit.ShCommands import Command, Pipeline
from lit.ShUtil import ShParser

TIMEOUT_SECONDS = 120
INTERNAL_ERROR = 70
"""What the tools exit with after a bug."""

Tool = Callable[[list[str]], int]


def _xir_opt(arguments: list[str]) -> int:
    from xir.tools.xir_opt import main

    return main(arguments)


def _xir_translate(arguments: list[str]) -> int:
    from xir.tools.xir_translate import main

    return main(arguments)


def _filecheck(arguments: list[str]) -> int:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    return Matcher.from_opts(parse_argv_options(["filecheck", *arguments])).run()


TOOLS: dict[str, Tool] = {"xir-opt": _xir_opt, "xir-translate": _xir_translate, "filecheck": _filecheck}

Redirect = tuple[tuple[str, ...] | tuple[str, int], str]


class CannotRunHere(Exception):
    """The RUN line needs a shell."""


class Crash(Exception):
    """A tool ended in an exception, which no `not` excuses."""


@dataclass
class Outcome:
    """How a command ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class XirTest(lit.formats.ShTest):
    """Runs a test's RUN lines in this process if it can, else through lit's shell."""

    def execute(self, test: lit.Test.Test, litConfig: object) -> lit.Test.Result:  # noqa: N803 (lit's name)
        if test.config.unsupported:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "Test is unsupported")
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):
            return script
        temporary_directory, temporary_base = lit.TestRunner.getTempPaths(test)
        substitutions = lit.TestRunner.getDefaultSubstitutions(test, temporary_directory, temporary_base)
        conditions = dict.fromkeys(test.config.available_features, True)
        lines = lit.TestRunner.applySubstitutions(script, substitutions, conditions)
        try:
            pipelines = [parse_run_line(re.fullmatch(lit.TestRunner.kPdbgRegex, line)[2]) for line in lines]
        except CannotRunHere:
            return super().execute(test, litConfig)
        return _run_within_time(list(zip(lines, pipelines, strict=True)))


def parse_run_line(line: str) -> list[Command]:
    """The commands of a RUN line, one pipe after the other. CannotRunHere if it needs more than these tools."""
    try:
        parsed = ShParser(line.strip(), pipefail=True).parse()
    except ValueError as error:
        raise CannotRunHere from error
    if not isinstance(parsed, Pipeline) or parsed.negate:
        raise CannotRunHere
    for command in parsed.commands:
        if not all(isinstance(argument, str) for argument in command.args):
            raise CannotRunHere
        names = [name for name in command.args[:2] if name != "not"]
        if not names or names[0] not in TOOLS:
            raise CannotRunHere
        if not all(kind in ((("<",)), (">",), (">", 2), (">&", 2)) for kind, _ in command.redirects):
            raise CannotRunHere
    return parsed.commands


def _run_within_time(script: list[tuple[str, list[Command]]]) -> lit.Test.Result:
    def expired(*_: object) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, expired)
    signal.alarm(TIMEOUT_SECONDS)
    try:
        for line, commands in script:
            outcome = run_pipeline(commands)
            if outcome.exit_code:
                return lit.Test.Result(lit.Test.FAIL, _report(line, outcome))
        return lit.Test.Result(lit.Test.PASS, "")
    except TimeoutError:
        return lit.Test.Result(lit.Test.TIMEOUT, f"no end after {TIMEOUT_SECONDS} s")
    except Crash as crash:
        return lit.Test.Result(lit.Test.FAIL, str(crash))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _report(line: str, outcome: Outcome) -> str:
    parts = [f"RUN line failed: {line}\nexit code {outcome.exit_code}"]
    for title, data in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if data:
            parts.append(f"--- {title}\n{data.decode('utf-8', 'replace')}")
    return "\n".join(parts)


def run_pipeline(commands: list[Command]) -> Outcome:
    """Run commands joined by pipes; the exit code is the last one that is not 0, as with `set -o pipefail`."""
    data = b""
    exit_code = 0
    errors = b""
    for command in commands:
        outcome = _run_command(command, data)
        exit_code = outcome.exit_code or exit_code
        errors += outcome.stderr
        data = outcome.stdout
    return Outcome(exit_code, data, errors)


def _run_command(command: Command, stdin: bytes) -> Outcome:
    redirects: list[Redirect] = command.redirects
    for kind, path in redirects:
        if kind == ("<",):
            stdin = _read(path)
    negated = command.args[0] == "not"
    name, *arguments = command.args[1:] if negated else command.args
    outcome = _call(TOOLS[name], arguments, stdin)
    if negated:
        outcome.exit_code = 0 if outcome.exit_code else 1
    for kind, target in redirects:
        if kind == (">&", 2) and target == "1":
            outcome.stdout, outcome.stderr = outcome.stderr + outcome.stdout, b""
        elif kind == (">", 2):
            _write(target, outcome.stderr)
            outcome.stderr = b""
        elif kind == (">",):
            _write(target, outcome.stdout)
            outcome.stdout = b""
    return outcome


def _read(path: str) -> bytes:
    if path == "/dev/null":
        return b""
    with open(path, "rb") as file:
        return file.read()


def _write(path: str, data: bytes) -> None:
    if path != "/dev/null":
        with open(path, "wb") as file:
            file.write(data)


def _call(tool: Tool, arguments: list[str], stdin: bytes) -> Outcome:
    """Call a tool's `main` with its standard streams in memory."""
    streams = tuple(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") for data in (stdin, b"", b""))
    saved = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        exit_code = int(tool(arguments) or 0)
    except SystemExit as error:
        exit_code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except TimeoutError:
        raise
    except BaseException as error:
        raise Crash(f"{' '.join(arguments)}\n{traceback.format_exc()}") from error
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
    for stream in streams[1:]:
        stream.flush()
    if exit_code == INTERNAL_ERROR:
        raise Crash(f"{' '.join(arguments)}\n{streams[2].buffer.getvalue().decode(errors='replace')}")
    return Outcome(exit_code, streams[1].buffer.getvalue(), streams[2].buffer.getvalue())
