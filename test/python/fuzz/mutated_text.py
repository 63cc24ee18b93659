"""IR text that is wrong in ways that people and generators get it wrong: changed lit files, for `xir-opt` to run.

`draw(seed)` is always the same case. A case has to end in output that can be read again, or in a diagnostic with its
place and exit code 1: no traceback, no endless run, no gigabytes.
"""

from __future__ import annotations

import contextlib
import functools
import io
import random
import re
import resource
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LIT = Path(__file__).parents[2] / "lit"
SECONDS = 20
BYTES = 3 << 30

_NUMBER = re.compile(r"(?<![\w.%@^#])-?\d+(?![\w.])|(?<=[<x])\d+(?=x)")
_VALUE = re.compile(r"%[\w#]+")
_TYPE = re.compile(r"tensor<[^<>]*>|\b(?:f16|bf16|f32|f64|i1|i8|i16|i32|i64|ui8)\b")
_ATTRIBUTE = re.compile(r"[\w.]+ = (?:array<[^<>]*>|dense<[^<>]*>|\"[^\"]*\"|[-\w.+]+)(?: : \w+)?")
_OP = re.compile(r"\b(?:edge|xnnpack|pte|quant|qdq|func|builtin|arith)\.[\w.]+")
_SIZES = re.compile(r"(?<=tensor<)[\dx?]+(?=x\w+)")

NUMBERS = (0, -1, 1, 2, 3, 5, 127, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63, -(2**63), 2**64)
ELEMENTS = ("f32", "f16", "bf16", "f64", "i1", "i8", "i32", "i64", "ui8", "i4")
LINES = (
    "^bb1:",
    '"cf.br"()[^bb0] : () -> ()',
    "func.return",
    "}",
    "{",
    '%new = "edge.relu"(%new) : (tensor<1xf32>) -> tensor<1xf32>',
)


@dataclass(frozen=True)
class Chunk:
    """A part of a lit file, and the flags that its RUN lines give `xir-opt`."""

    path: str
    text: str
    flags: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Case:
    text: str
    flags: tuple[str, ...]
    path: str


class Failure(Exception):
    """What a case did and must not do."""


@functools.cache
def corpus() -> tuple[Chunk, ...]:
    """The parts of all lit files that `xir-opt` reads."""
    chunks: list[Chunk] = []
    for path in sorted(LIT.rglob("*.mlir")):
        text = path.read_text("utf-8")
        flags = tuple(dict.fromkeys(_run_flags(text)))
        body = re.sub(r"(?m)^\s*//(?! -----).*\n", "", text)
        for part in re.split(r"(?m)^// -----.*$", body):
            if part.strip():
                chunks.append(Chunk(path.relative_to(LIT).as_posix(), part.strip() + "\n", flags))
    return tuple(chunks)


def _run_flags(text: str) -> Iterator[tuple[str, ...]]:
    from xir.transforms.pipelines import PIPELINES
    from xir.transforms.registry import PASSES

    for line in re.findall(r"(?m)^// RUN: (.*)$", re.sub(r"\\\n// RUN:", "", text)):
        for command in line.split("|"):
            words = shlex.split(command)
            names = [word.lstrip("-").partition("=")[0] for word in words]
            wanted = [
                word
                for word, name in zip(words, names, strict=True)
                if word.startswith("-")
                and (name in PASSES or name in PIPELINES or name in {"allow-unregistered-dialect", "pass-pipeline"})
            ]
            if "xir-opt" in words and "--pass-pipeline" not in wanted:
                yield tuple(wanted)


@functools.cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The op names, types, attributes and lines of the corpus, each once."""
    everything = "\n".join(chunk.text for chunk in corpus())
    return (
        tuple(sorted(set(_OP.findall(everything)))),
        tuple(sorted(set(_TYPE.findall(everything)))),
        tuple(sorted(set(_ATTRIBUTE.findall(everything)))),
        tuple(sorted({line for line in everything.split("\n") if "=" in line})),
    )


def draw(seed: int) -> Case:
    """Case number `seed`."""
    from xir.transforms.pipelines import PIPELINES
    from xir.transforms.registry import PASSES

    rng = random.Random(seed)
    chunk = rng.choice(corpus())
    text = chunk.text
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(MUTATIONS)(text, rng)
    flags = rng.choice(chunk.flags) if chunk.flags else ()
    if rng.random() < 0.4:
        flags = (f"--{rng.choice([*PASSES, *PASSES, *PIPELINES])}",)
    return Case(text, flags, chunk.path)


# --- Mutations ---------------------------------------------------------------------------------------------------

Mutation = Callable[[str, random.Random], str]


def _replace_one(pattern: re.Pattern[str], replacement: Callable[[str, random.Random], str]) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        match = rng.choice(found)
        return text[: match.start()] + replacement(match[0], rng) + text[match.end() :]

    return mutate


def _number(old: str, rng: random.Random) -> str:
    return str(rng.choice((*NUMBERS, int(old) + 1, int(old) - 1, -int(old), int(old) * 2)))


def _sizes(old: str, rng: random.Random) -> str:
    sizes = old.split("x")
    at = rng.randrange(len(sizes))
    how = rng.randrange(4)
    if how == 0:
        sizes[at] = rng.choice(("?", "0", "1", "-1", *map(str, NUMBERS)))
    elif how == 1:
        sizes.insert(at, rng.choice(("1", "2", "?")))
    elif how == 2 and len(sizes) > 1:
        del sizes[at]
    else:
        rng.shuffle(sizes)
    return "x".join(sizes)


def _all_of_a_number(text: str, rng: random.Random) -> str:
    """The same change wherever the number is, so that types go on agreeing."""
    found = sorted(set(re.findall(r"(?<=[<x])\d+(?=x)", text)))
    if not found:
        return text
    old, new = rng.choice(found), str(rng.choice((*NUMBERS[:1], *NUMBERS[2:], "?")))
    return re.sub(rf"(?<=[<x]){old}(?=x)", new, text)


def _all_of_an_element(text: str, rng: random.Random) -> str:
    found = sorted(set(re.findall(rf"(?<=x)(?:{'|'.join(ELEMENTS)})(?=>)", text)))
    if not found:
        return text
    old, new = rng.choice(found), rng.choice(ELEMENTS)
    return re.sub(rf"(?<=x){old}(?=>)", new, text)


def _lines(change: Callable[[list[str], random.Random], None]) -> Mutation:
    def mutate(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        change(lines, rng)
        return "\n".join(lines)

    return mutate


def _delete_line(lines: list[str], rng: random.Random) -> None:
    if lines:
        del lines[rng.randrange(len(lines))]


def _duplicate_line(lines: list[str], rng: random.Random) -> None:
    at = rng.randrange(len(lines))
    lines.insert(at, lines[at])


def _swap_lines(lines: list[str], rng: random.Random) -> None:
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


def _insert_line(lines: list[str], rng: random.Random) -> None:
    line = rng.choice(LINES) if rng.random() < 0.5 else rng.choice(_vocabulary()[3])
    lines.insert(rng.randrange(len(lines) + 1), line)


def _swap_values(text: str, rng: random.Random) -> str:
    values = sorted(set(_VALUE.findall(text)))
    if len(values) < 2:
        return text
    return _replace_one(_VALUE, lambda _old, rng: rng.choice(values))(text, rng)


def _swap_attributes(text: str, rng: random.Random) -> str:
    """Gives one attribute the value of another one, or leaves it out."""
    found = list(_ATTRIBUTE.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    name, _, value = match[0].partition(" = ")
    how = rng.randrange(4)
    if how == 0:
        new = ""
    elif how == 1:
        new = f"{name} = {rng.choice(found)[0].partition(' = ')[2]}"
    elif how == 2:
        new = f"{name} = {rng.choice(_vocabulary()[2]).partition(' = ')[2]}"
    else:
        new = f"{rng.choice(found)[0].partition(' = ')[0]} = {value}"
    return text[: match.start()] + new + text[match.end() :]


def _list_item(text: str, rng: random.Random) -> str:
    """One item more or less in an `array<…>`."""
    found = list(re.finditer(r"array<(i64|i32|f64|f32|i1): ([^<>]*)>", text))
    if not found:
        return text
    match = rng.choice(found)
    items = match[2].split(", ")
    at = rng.randrange(len(items))
    if rng.random() < 0.5:
        items.insert(at, items[at])
    else:
        del items[at]
    body = f": {', '.join(items)}" if items else ""
    return f"{text[: match.start()]}array<{match[1]}{body}>{text[match.end() :]}"


def _delete_characters(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) or 1)
    return text[:at] + text[at + rng.randrange(1, 4) :]


def _operand_list(text: str, rng: random.Random) -> str:
    """An operand more or less in a parenthesised list."""
    found = list(re.finditer(r"\(([^()]*)\)", text))
    if not found:
        return text
    match = rng.choice(found)
    items = match[1].split(", ")
    at = rng.randrange(len(items))
    items[at : at + 1] = rng.choice(([], [items[at]] * 2, ["none"], [f"[{items[at]}]"]))
    return f"{text[: match.start()]}({', '.join(items)}){text[match.end() :]}"


MUTATIONS: tuple[Mutation, ...] = (
    _replace_one(_NUMBER, _number),
    _replace_one(_NUMBER, _number),
    _replace_one(_NUMBER, _number),
    _replace_one(_SIZES, _sizes),
    _replace_one(_SIZES, _sizes),
    _replace_one(_TYPE, lambda _old, rng: rng.choice(_vocabulary()[1])),
    _replace_one(_TYPE, lambda _old, rng: rng.choice(ELEMENTS)),
    _replace_one(_OP, lambda _old, rng: rng.choice(_vocabulary()[0])),
    _all_of_a_number,
    _all_of_a_number,
    _all_of_an_element,
    _swap_attributes,
    _swap_attributes,
    _swap_values,
    _list_item,
    _operand_list,
    _lines(_delete_line),
    _lines(_duplicate_line),
    _lines(_swap_lines),
    _lines(_insert_line),
    _delete_characters,
)


# --- Running -----------------------------------------------------------------------------------------------------


@dataclass
class Ended:
    exit_code: int
    stdout: str
    stderr: str


def xir_opt(text: str, flags: Sequence[str]) -> Ended:
    """`xir-opt flags` on the text, in this process."""
    from xir.tools.xir_opt import main

    stdin, stdout, stderr = io.StringIO(text), io.StringIO(), io.StringIO()
    original = sys.stdin
    sys.stdin = stdin
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            exit_code = main([*flags, "-"])
    finally:
        sys.stdin = original
    return Ended(exit_code, stdout.getvalue(), stderr.getvalue())


@contextlib.contextmanager
def limits() -> Generator[None]:
    """Time and address space that a case may take; TimeoutError and MemoryError beyond."""

    def expired(*_: object) -> None:
        raise TimeoutError(f"took more than {SECONDS} s")

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    previous = signal.signal(signal.SIGALRM, expired)
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, before[1]))
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGALRM, previous)


def check(case: Case) -> bool:
    """Run a case: whether it ended in output. Failure for anything but that or a diagnostic."""
    try:
        with limits():
            ended = xir_opt(case.text, case.flags)
    except Exception as error:
        raise Failure(_where(error)) from error
    if ended.exit_code == 1:
        if re.search(r"(?m)^(?:\S+:\d+:\d+: |xir-opt: |loc\([^)]*\): )?error: .", ended.stderr) is None:
            raise Failure(f"exit code 1 without a diagnostic: {ended.stderr!r}")
        return False
    if ended.exit_code != 0:
        raise Failure(f"exit code {ended.exit_code}: {ended.stderr}")
    unregistered = [flag for flag in case.flags if flag == "--allow-unregistered-dialect"]
    try:
        with limits():
            again = xir_opt(ended.stdout, unregistered)
    except Exception as error:
        raise Failure(f"reading the output: {_where(error)}") from error
    if again.exit_code != 0:
        raise Failure(f"the output cannot be read again: {again.stderr.splitlines()[:1]}")
    return True


def _where(error: BaseException) -> str:
    """The exception, and the innermost line of the project that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    inner = frames[-1]
    return f"{type(error).__name__}: {error} ({Path(inner.filename).name}:{inner.lineno} {inner.name})"
