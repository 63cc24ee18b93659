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

from reference.cases import Failed, Failure

LIT = Path(__file__).parents[2] / "lit"
SECONDS = 20
BYTES = 3 << 30

_NUMBER = re.compile(r"(?<![\w.%@^#])-?\d+(?![\w.])|(?<=[<x])\d+(?=x)")
_VALUE = re.compile(r"%[\w#]+")
_TYPE = re.compile(r"tensor<[^<>]*>|\b(?:f16|bf16|f32|f64|i1|i8|i16|i32|i64|ui8)\b")
_ATTRIBUTE = re.compile(r"[\w.]+ = (?:array<[^<>]*>|dense<[^<>]*>|\"[^\"]*\"|[-\w.+]+)(?: : \w+)?")
_OP = re.compile(r"\b(?:edge|xnnpack|pte|quant|qdq|func|builtin|arith)\.[\w.]+")
_SIZES = re.compile(r"(?<=tensor<)[\dx?]+(?=x\w+)")
_SIZE = re.compile(r"(?<=[<x])\d+(?=x)")
_ELEMENT = re.compile(r"(?<=x)(?:f16|bf16|f32|f64|i1|i4|i8|i32|i64|ui8)(?=>)")
_ASSIGNED = re.compile(r"(?m)^.*=.*$")

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
def _vocabulary(pattern: re.Pattern[str]) -> tuple[str, ...]:
    """What of the corpus is of a form, each once."""
    return tuple(sorted({found for chunk in corpus() for found in pattern.findall(chunk.text)}))


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
Replacement = Callable[[str, Sequence[str], random.Random], str]
"""What stands instead of a match, one of these in the text."""


def _one(pattern: re.Pattern[str], replacement: Replacement) -> Mutation:
    """Another text for one match."""

    def mutate(text: str, rng: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        match = rng.choice(found)
        new = replacement(match[0], [each[0] for each in found], rng)
        return text[: match.start()] + new + text[match.end() :]

    return mutate


def _all(pattern: re.Pattern[str], others: Sequence[str]) -> Mutation:
    """The same change wherever something is, so that types go on agreeing."""

    def mutate(text: str, rng: random.Random) -> str:
        found = sorted(set(pattern.findall(text)))
        if not found:
            return text
        old, new = rng.choice(found), rng.choice(others)
        return pattern.sub(lambda match: new if match[0] == old else match[0], text)

    return mutate


def _number(old: str, _: Sequence[str], rng: random.Random) -> str:
    return str(rng.choice((*NUMBERS, int(old) + 1, int(old) - 1, -int(old), int(old) * 2)))


def _sizes(old: str, _: Sequence[str], rng: random.Random) -> str:
    sizes = old.split("x")
    at, how = rng.randrange(len(sizes)), rng.randrange(4)
    if how == 0:
        sizes[at] = rng.choice(("?", "0", "1", "-1", *map(str, NUMBERS)))
    elif how == 1:
        sizes.insert(at, rng.choice(("1", "2", "?")))
    elif how == 2 and len(sizes) > 1:
        del sizes[at]
    else:
        rng.shuffle(sizes)
    return "x".join(sizes)


def _another(old: str, found: Sequence[str], rng: random.Random) -> str:
    return rng.choice(sorted(set(found)))


def _of_the_corpus(pattern: re.Pattern[str]) -> Replacement:
    return lambda _old, _found, rng: rng.choice(_vocabulary(pattern))


def _attribute(old: str, found: Sequence[str], rng: random.Random) -> str:
    """Without it, or with the name or value of another one."""
    (name, value), (other, near), (_, far) = (
        each.split(" = ", 1) for each in (old, rng.choice(found), rng.choice(_vocabulary(_ATTRIBUTE)))
    )
    return rng.choice(("", f"{name} = {near}", f"{name} = {far}", f"{other} = {value}"))


def _items(*others: str) -> Replacement:
    """An item more or less in a list, or one that is one of `others`, which have `*` for it."""

    def replacement(old: str, _: Sequence[str], rng: random.Random) -> str:
        items = old.split(", ")
        at = rng.randrange(len(items))
        changed = [[each.replace("*", items[at])] for each in others]
        items[at : at + 1] = rng.choice(([], [items[at]] * 2, *changed))
        return ", ".join(items)

    return replacement


def _lines(text: str, rng: random.Random) -> str:
    """A line more or less, or two in each other's place."""
    lines = text.split("\n")
    i, j, how = rng.randrange(len(lines)), rng.randrange(len(lines)), rng.randrange(4)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines.insert(i, lines[i])
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, rng.choice(LINES) if rng.random() < 0.5 else rng.choice(_vocabulary(_ASSIGNED)))
    return "\n".join(lines)


def _delete_characters(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) or 1)
    return text[:at] + text[at + rng.randrange(1, 4) :]


MUTATIONS: tuple[Mutation, ...] = (
    *[_one(_NUMBER, _number)] * 3,
    *[_one(_SIZES, _sizes)] * 2,
    _one(_TYPE, _of_the_corpus(_TYPE)),
    _one(_TYPE, lambda _old, _found, rng: rng.choice(ELEMENTS)),
    _one(_OP, _of_the_corpus(_OP)),
    *[_all(_SIZE, [*map(str, NUMBERS[:1] + NUMBERS[2:]), "?"])] * 2,
    _all(_ELEMENT, ELEMENTS),
    *[_one(_ATTRIBUTE, _attribute)] * 2,
    _one(_VALUE, _another),
    _one(re.compile(r"(?:(?<=array<i64: )|(?<=array<i32: )|(?<=array<i1: ))[^<>]+"), _items()),
    _one(re.compile(r"(?<=\()[^()]*(?=\))"), _items("none", "[*]")),
    *[_lines] * 4,
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


def check_all(numbers: range, *, is_shown: bool = False) -> list[Failed]:
    """Run cases by their numbers; Failure where one shows something wrong."""
    for case in map(draw, numbers):
        if is_shown:
            print(f"// {case.path}: xir-opt {' '.join(case.flags)}\n{case.text}", flush=True)
        check(case)
    return []


def _where(error: BaseException) -> str:
    """The exception, and the innermost line of the project that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    inner = frames[-1]
    return f"{type(error).__name__}: {error} ({Path(inner.filename).name}:{inner.lineno} {inner.name})"
