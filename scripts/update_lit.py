"""Write the CHECK lines of lit tests from what their RUN lines print, or renew those that it wrote before.

python scripts/update_lit.py FILE...           write
python scripts/update_lit.py --check FILE...   exit 1 and name the files whose written lines are out of date

Each function without CHECK lines gets them above it, under a line that says who wrote them: the function as
CHECK-LABEL, every other line as CHECK-NEXT, values as variables. Lines by hand stay as they are, and a function that
has some with the prefix of a RUN line gets no others; delete them, and it is written. Whoever changes written lines
deletes the line above them, which makes them lines by hand.

What is written says what a program prints, not what is right: read it.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from xir.files import atomic_file
from xir.ir.split_input import SPLIT_MARKER, split_input

ROOT = Path(__file__).parent.parent
WRITTEN = "// Written by scripts/update_lit.py:"
LONGEST_LITERAL = 100
"""Characters of a constant that are checked; of a longer one there is only that it is there."""

RUN = re.compile(r"^\s*//\s*RUN:\s*(.*)$")
LABEL = re.compile(r'^(\s*)((?:\w+\.)+\w+(?: (?:private|public|nested))? @(?:[\w$.-]+|"[^"]*"))(?![\w.])(.*)$')
NAME = re.compile(r'@(?:[\w$.-]+|"[^"]*")')
VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|%([\w$.-]+)')
DEFINITIONS = re.compile(r"^\s*(?:%[\w$.-]+(?::\d+)?(?:, )?)+(?= = )|^\s*\^\w+\(.*\):")
SUFFIX = r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?"
LITERAL = re.compile(r"\b(dense|dense_resource|array)<([^<>]*)>")


class UpdateError(Exception):
    """A test whose lines cannot be written; the message is for the user."""


@dataclass(frozen=True)
class Function:
    """An op with a symbol and a region, in a test or in what it prints: its first line and the one behind its last."""

    name: str
    start: int
    end: int


# --- What a test prints ----------------------------------------------------------------------------------------------


def commands(text: str) -> list[str]:
    """The RUN lines; one that ends in a backslash goes on in the next."""
    lines: list[str] = []
    for line in text.splitlines():
        if (run := RUN.match(line)) is None:
            continue
        if lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1] + run[1]
        else:
            lines.append(run[1])
    return lines


def outputs(path: Path, text: str) -> dict[str, str]:
    """Prefix -> what filecheck reads with it."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands(text):
            tool, pipe, check = command.rpartition("|")
            checked = bool(pipe) and shlex.split(check)[:1] == ["filecheck"]
            printed = run(tool if checked else command, path, Path(folder), must_succeed=checked)
            if not checked:
                continue
            prefixes = prefixes_of(shlex.split(check)[1:])
            if len(prefixes) > 1:
                raise UpdateError(f"'{command}' has several prefixes; write those by hand")
            if found.setdefault(prefixes[0], printed) != printed:
                raise UpdateError(f"RUN lines with the prefix {prefixes[0]} print different things; give each its own")
    if not found:
        raise UpdateError("no RUN line ends in '| filecheck'")
    return found


def prefixes_of(arguments: Sequence[str]) -> list[str]:
    """The prefixes that a call of filecheck looks for."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--check-prefix", "-check-prefix", action="append", default=[])
    parser.add_argument("--check-prefixes", "-check-prefixes", action="append", default=[])
    options, _ = parser.parse_known_args(list(arguments))
    given = [prefix for text in options.check_prefix + options.check_prefixes for prefix in text.split(",")]
    return given or ["CHECK"]


def run(command: str, path: Path, folder: Path, *, must_succeed: bool) -> str:
    """What a command of a RUN line prints, `%s` and its like replaced as lit does."""
    places = {"%%": "%", "%s": str(path), "%S": str(path.parent), "%p": str(path.parent),
              "%t": str(folder / "t"), "%T": str(folder)}  # fmt: skip
    replaced = re.sub("%[%sSptT]", lambda match: places[match[0]], command)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", replaced],
        env=os.environ | {"PATH": search}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if must_succeed and done.returncode:
        raise UpdateError(f"'{command.strip()}' ends with exit code {done.returncode}:\n{done.stderr.rstrip()}")
    return done.stdout


# --- Functions -------------------------------------------------------------------------------------------------------


def functions(lines: Sequence[str]) -> Iterator[Function]:
    """The outermost ops with a symbol and a region."""
    end = 0
    for start, line in enumerate(lines):
        label = LABEL.match(line)
        if start < end or label is None:
            continue
        closing = f"{label[1]}}}"
        last = next((index for index in range(start, len(lines)) if lines[index].rstrip().startswith(closing)), None)
        if last is None or any(
            LABEL.match(each) and not each.startswith(label[1] + " ") for each in lines[start + 1 : last]
        ):
            continue  # a declaration
        end = last + 1
        name = NAME.search(label[2])
        assert name is not None
        yield Function(name[0], start, end)


# --- CHECK lines -----------------------------------------------------------------------------------------------------


class Variables:
    """The variables of the values of a function; a name that a region defines anew is another one there."""

    def __init__(self) -> None:
        self._scopes: list[dict[str, str]] = [{}]
        self._taken: set[str] = set()

    def enter(self) -> None:
        """A region begins."""
        self._scopes.append({})

    def leave(self) -> None:
        """A region ends."""
        if len(self._scopes) > 1:
            self._scopes.pop()

    def pattern(self, name: str, *, defines: bool) -> str:
        """The pattern for `%name`."""
        known = next((scope[name] for scope in reversed(self._scopes) if name in scope), None)
        if known is not None and not (defines and name not in self._scopes[-1]):
            return f"%[[{known}]]"
        wanted = re.sub(r"\W", "_", name).upper()
        wanted = f"V{wanted}" if wanted[0].isdigit() else wanted
        variable, number = wanted, 2
        while variable in self._taken:
            variable, number = f"{wanted}_{number}", number + 1
        self._taken.add(variable)
        self._scopes[-1][name] = variable
        return f"%[[{variable}:.*]]"


def check_lines(printed: Sequence[str], prefix: str) -> list[str]:
    """The lines that check a function as it is printed."""
    variables = Variables()
    head, indent = printed[0].strip(), len(printed[0]) - len(printed[0].lstrip())
    starts = [match.start() for match in VALUE.finditer(head) if match[1] is not None]
    lines = [f"// {prefix}-LABEL: {escaped(head[: starts[0] if starts else None]).rstrip()}"]
    for start, end in pairwise([*starts, len(head)]):
        lines.append(f"// {prefix}-SAME:    {pattern(head[start:end], variables, defines=True).rstrip()}")
    for line in printed[1:]:
        if not line.strip():
            lines.append(f"// {prefix}-EMPTY:")
            continue
        if line.lstrip().startswith("}"):
            variables.leave()
        lines.append(f"// {prefix}-NEXT:  {line_pattern(line[indent:].rstrip(), variables)}")
        if line.rstrip().endswith("{"):
            variables.enter()
    return lines


def line_pattern(line: str, variables: Variables) -> str:
    """A line in which values on the left of `=`, and arguments of a block, are defined."""
    definitions = DEFINITIONS.match(line)
    end = 0 if definitions is None else definitions.end()
    # What an op uses was defined before it; what it defines may have the same name in another region.
    return pattern(line[:end], variables, defines=True) + pattern(line[end:], variables, defines=False)


def pattern(text: str, variables: Variables, *, defines: bool) -> str:
    """Text as filecheck matches it, with variables for its values."""
    text = LITERAL.sub(lambda match: f"{match[1]}<\0>" if len(match[2]) > LONGEST_LITERAL else match[0], text)
    parts: list[str] = []
    position = 0
    for match in VALUE.finditer(text):
        if match[1] is None:
            continue  # a string
        parts += [escaped(text[position : match.start()]), variables.pattern(match[1], defines=defines)]
        position = match.end()
    return "".join([*parts, escaped(text[position:])]).replace("\0", "{{.*}}")


def escaped(text: str) -> str:
    """Text that filecheck takes as it stands."""
    return re.sub(r"\[\[|\{\{", lambda match: "{{" + "".join(f"\\{char}" for char in match[0]) + "}}", text)


# --- Tests -----------------------------------------------------------------------------------------------------------


def updated(text: str, printed: dict[str, str]) -> str:
    """A test with its lines written anew, for what it prints under each prefix."""
    parts = [part.split("\n") for part, _ in split_input(text)]
    by_prefix = {prefix: [part.split("\n") for part, _ in split_input(output)] for prefix, output in printed.items()}
    result: list[str] = []
    for index, lines in enumerate(parts):
        found = {
            prefix: {each.name: chunk[each.start : each.end] for chunk in chunks_for(index, len(parts), chunks)
                     for each in functions(chunk)}
            for prefix, chunks in by_prefix.items()
        }  # fmt: skip
        result.append("\n".join(part_updated(lines, found)))
    return f"\n{SPLIT_MARKER}\n".join(result)


def chunks_for(index: int, count: int, chunks: list[list[str]]) -> list[list[str]]:
    """The parts of the output that a part of the test may have become."""
    return [chunks[index]] if len(chunks) == count else chunks


def part_updated(lines: list[str], printed: dict[str, dict[str, list[str]]]) -> list[str]:
    """A part of a test with its lines written anew; `printed` has the functions by prefix and name."""
    lines = list(without_written(lines, tuple(printed)))
    result: list[str] = []
    before = 0
    for function in functions(lines):
        piece = lines[before : function.end]
        missing = [
            prefix
            for prefix, found in printed.items()
            if function.name in found and not by_hand(piece, lines, function.name, prefix)
        ]
        result += lines[before : function.start]
        if missing:
            result.append(WRITTEN)
            result += (line for prefix in missing for line in check_lines(printed[prefix][function.name], prefix))
        result += lines[function.start : function.end]
        before = function.end
    return result + lines[before:]


def without_written(lines: Sequence[str], prefixes: tuple[str, ...]) -> Iterator[str]:
    """The lines that people wrote."""
    written = False
    for line in lines:
        if line.strip() == WRITTEN:
            written = True
        elif not (written and any(is_check(line, prefix) for prefix in prefixes)):
            written = False
            yield line


def is_check(line: str, prefix: str) -> bool:
    """Whether a line is one for filecheck, with a prefix."""
    return (
        re.match(rf"^\s*//\s*{re.escape(prefix)}(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?:", line) is not None
    )


def by_hand(piece: Sequence[str], part: Sequence[str], name: str, prefix: str) -> bool:
    """Whether a function has CHECK lines: from the function above it to its end, or a label anywhere in its part."""
    if any(is_check(line, prefix) for line in piece):
        return True
    return any(is_check(line, prefix) and "-LABEL" in line and name in NAME.findall(line) for line in part)


def main(argv: Sequence[str] | None = None) -> int:
    """Write or check the tests that are named; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    status = 0
    for path in options.files:
        try:
            text = path.read_text(encoding="utf-8")
            new = updated(text, outputs(path, text))
            if new == text:
                continue
            if options.check:
                print(f"{path} is not up to date: run scripts/update_lit.py on it", file=sys.stderr)
                status = 1
                continue
            with atomic_file(path) as file:
                file.write(new.encode("utf-8"))
            print(f"wrote {path}")
        except (UpdateError, UnicodeDecodeError, OSError) as error:
            print(f"{path}: error: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
