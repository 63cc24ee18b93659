"""Remarks: what optimising passes did, did not do and found, after MLIR's (`mlir/include/mlir/IR/Remarks.h`).

A pass says what it did by `passed`, what it would have done and why it could not by `missed`, what it tried and had to
take back by `failed`, and figures by `analysis`:

    if wanted(RemarkKind.ANALYSIS):
        analysis(op, "transpose", "transposes 1x8x8x4xf32", figures={"BytesMoved": 2048})

Nobody listens unless a filter is set (`XirContext.remark_filter`); till then `wanted` is False, and guards what takes
time to find out. The pass manager says for which pass the remarks are. What every user wants to know, such as that an
op is not delegated, is emitted without these functions (`remark`, and classes of its own), and heard in any case.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from xir.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from xir.ir.location import Locatable, location_of

UNKNOWN_FUNCTION = "<unknown function>"
"""MLIR's name for the function of a remark that is about an op outside of functions."""

Figure = int | float | str


class RemarkKind(Enum):
    """The outcome of an optimisation; the value is the word that MLIR and LLVM print."""

    PASSED = "Passed"
    MISSED = "Missed"
    FAILED = "Failure"
    ANALYSIS = "Analysis"


@dataclass(frozen=True, kw_only=True)
class Remark(Diagnostic):
    """A remark with its parts. `remark` makes one; its `message` is a sentence of all parts but the figures."""

    kind: RemarkKind
    category: str
    """The pass, which filters are matched against."""
    name: str
    """An identifier in kebab case, the same for all remarks of a sort."""
    text: str
    function: str = ""
    """The symbol of the function that it is about, empty where there is none."""
    reason: str = ""
    """Why, where a pass did not do something."""
    hint: str | None = None
    """The change that would help."""
    figures: tuple[tuple[str, Figure], ...] = ()
    """Sizes and counts by their names, which are CamelCase as LLVM's."""

    @property
    def arguments(self) -> list[tuple[str, Figure]]:
        """The texts and figures, with MLIR's keys."""
        said = [("Remark", self.text), ("Reason", self.reason), ("Suggestion", self.hint or "")]
        return [*((key, value) for key, value in said if value), *self.figures]

    def mlir_text(self) -> str:
        """As `mlir-opt --remark-format=emitRemark` prints it: `[Missed] name | Category:pass | Reason="…"`."""
        head = f"[{self.kind.value}] {self.name} | Category:{self.category} | "
        if self.function:
            head += f"Function={self.function} | "
        return head + ", ".join(f"{key}={_quoted(str(value))}" for key, value in sorted(self.arguments, key=_key))


def _key(argument: tuple[str, Figure]) -> str:
    return argument[0]


def _quoted(text: str) -> str:
    return f'"{text}"' if any(each in text for each in " ,{}") else text


@dataclass(frozen=True)
class RemarkFilter:
    """Which remarks are wanted: for each kind a regular expression that matches a whole category; None wants none."""

    passed: re.Pattern[str] | None = None
    missed: re.Pattern[str] | None = None
    failed: re.Pattern[str] | None = None
    analysis: re.Pattern[str] | None = None

    @staticmethod
    def of(
        every: str | None = None,
        *,
        passed: str | None = None,
        missed: str | None = None,
        failed: str | None = None,
        analysis: str | None = None,
    ) -> RemarkFilter:
        """The filter of Python regular expressions on the names of passes: `every` kind, or one. ValueError for what
        is none."""

        def pattern(specific: str | None) -> re.Pattern[str] | None:
            given = [text for text in (every, specific) if text is not None]
            for text in given:
                try:
                    re.compile(text)
                except re.error as error:
                    raise ValueError(f"'{text}' is no regular expression: {error}") from error
            return re.compile("|".join(f"(?:{text})" for text in given)) if given else None

        return RemarkFilter(pattern(passed), pattern(missed), pattern(failed), pattern(analysis))

    def wants(self, kind: RemarkKind, category: str) -> bool:
        """Whether remarks of this kind by this pass are wanted."""
        pattern: re.Pattern[str] | None = getattr(self, kind.name.lower())
        return pattern is not None and pattern.fullmatch(category) is not None


@dataclass(frozen=True)
class _Listener:
    engine: DiagnosticEngine
    category: str
    kinds: frozenset[RemarkKind]


_listener: ContextVar[_Listener | None] = ContextVar("listener of remarks", default=None)


@contextmanager
def heard_remarks(engine: DiagnosticEngine, wanted: RemarkFilter, category: str) -> Generator[None]:
    """Hand the remarks that a pass makes meanwhile to `engine`, if they are wanted."""
    kinds = frozenset(kind for kind in RemarkKind if wanted.wants(kind, category))
    token = _listener.set(_Listener(engine, category, kinds) if kinds else None)
    try:
        yield
    finally:
        _listener.reset(token)


def wanted(kind: RemarkKind) -> bool:
    """Whether anybody hears remarks of a kind by the pass that runs."""
    listener = _listener.get()
    return listener is not None and kind in listener.kinds


def passed(
    where: Locatable, name: str, text: str, *, figures: Mapping[str, Figure] | None = None, function: str | None = None
) -> None:
    """Say that an optimisation was made. An op that is gone is told by its location and its function."""
    _say(RemarkKind.PASSED, where, name, text, "", None, figures, function)


def missed(
    where: Locatable,
    name: str,
    text: str,
    reason: str,
    hint: str | None = None,
    *,
    figures: Mapping[str, Figure] | None = None,
) -> None:
    """Say that an optimisation was not made, and why."""
    _say(RemarkKind.MISSED, where, name, text, reason, hint, figures)


def analysis(where: Locatable, name: str, text: str, *, figures: Mapping[str, Figure] | None = None) -> None:
    """Say what was found out."""
    _say(RemarkKind.ANALYSIS, where, name, text, "", None, figures)


def _say(
    kind: RemarkKind,
    where: Locatable,
    name: str,
    text: str,
    reason: str,
    hint: str | None,
    figures: Mapping[str, Figure] | None,
    function: str | None = None,
) -> None:
    listener = _listener.get()
    if listener is not None and kind in listener.kinds:
        made = remark(kind, where, listener.category, name, text, reason=reason, hint=hint, figures=figures)
        listener.engine.emit(made if function is None else replace(made, function=function))


def remark(
    kind: RemarkKind,
    where: Locatable,
    category: str,
    name: str,
    text: str,
    *,
    reason: str = "",
    hint: str | None = None,
    figures: Mapping[str, Figure] | None = None,
) -> Remark:
    """A remark about `where`, whose function is found."""
    return Remark(
        Severity.REMARK,
        location_of(where),
        sentence(category, text, reason, hint),
        kind=kind,
        category=category,
        name=name,
        text=text,
        function=function_of(where),
        reason=reason,
        hint=hint,
        figures=tuple((figures or {}).items()),
    )


def sentence(category: str, text: str, reason: str, hint: str | None) -> str:
    """What a remark's parts read as: `pass: text: reason (hint)`."""
    return f"{category}: {text}{f': {reason}' if reason else ''}{f' ({hint})' if hint else ''}"


def function_of(where: Locatable) -> str:
    """The symbol of what is around an op, or of the op itself, empty if there is none; a module's does not count."""
    op = where.owner if isinstance(where, SSAValue) else where
    while op is not None and isinstance(op, Operation | Block | Region):
        if isinstance(op, Operation) and not isinstance(op, ModuleOp):
            symbol = op.properties.get("sym_name")
            if isinstance(symbol, StringAttr):
                return symbol.data
        op = op.parent
    return ""
