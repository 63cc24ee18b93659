"""The pattern driver: xDSL's rewrite patterns on a work list, as its `PatternRewriteWalker` applies them.

Against that one: a pattern is tried on the ops that it can match alone, if it says which (`op_rewrite_pattern`); a
rewrite puts back on the list all that define operands of what it erased, not only those with one
use left, so that what moves up a long chain needs no sweep for each step; ops that a pattern builds get the location
and origins of the op that was matched; and patterns that do not converge end in an error. Figures for both are in
docs/rationale/ir.md.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import UnionType
from typing import TypeVar, Union, get_args, get_origin

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.worklist import Worklist

from xir.ir.diagnostics import op_name
from xir.ir.provenance import inherit_missing
from xir.ir.remarks import RemarkKind, function_of, passed, wanted
from xir.ir.walking import ops_in, ops_in_reverse

PatternT = TypeVar("PatternT", bound=RewritePattern)
OpT = TypeVar("OpT", bound=Operation)

MAX_SWEEPS = 100
"""How many times the whole IR is visited again, for patterns that look further than an op and its neighbours."""

MAX_REWRITES = 100
"""How many rewrites a sweep may do for each op of the IR, counting a hundred ops more than there are."""


def op_rewrite_pattern(
    method: Callable[[PatternT, OpT, PatternRewriter], None],
) -> Callable[[PatternT, Operation, PatternRewriter], None]:
    """xDSL's `op_type_rewrite_pattern`, which also tells the driver the root of the pattern: the type, or the union of
    types, of the ops that it may match.

    The driver tries a pattern with xDSL's own decorator, or with none, on every op: the same outcome, and more work.
    """
    rewrite = op_type_rewrite_pattern(method)
    _, op, _ = inspect.signature(method, eval_str=True).parameters.values()
    is_union = get_origin(op.annotation) in (Union, UnionType)
    _ROOTS[rewrite] = get_args(op.annotation) if is_union else (op.annotation,)
    return rewrite


_ROOTS: dict[Callable[..., None], tuple[type[Operation], ...]] = {}
"""`match_and_rewrite` of a pattern -> the op types that it may match."""


def root_types(pattern: RewritePattern) -> tuple[type[Operation], ...]:
    """The op types that a pattern may match."""
    return _ROOTS.get(type(pattern).match_and_rewrite, (Operation,))


class NotConvergingError(Exception):
    """Patterns do not converge, because they undo each other or match their own results: a bug in the patterns."""


@dataclass(frozen=True)
class Rewrite:
    """One application of a pattern."""

    pattern: str
    """The pattern's class, or what a pass that has none calls it."""
    op: str
    """The name of the op that it matched."""
    location: LocationAttr


@dataclass
class RewriteCounter:
    """Counts rewrites, and stops them: what MLIR's debug counters do for its actions.

    The same pass makes the same rewrites in the same order, so the first n of them are the same every time.
    """

    limit: int | None = None
    """After so many rewrites no pattern is tried any more; None lets all be made."""
    count: int = 0
    last: Rewrite | None = None
    trying: Rewrite | None = None
    """What is tried now; it need not become a rewrite."""

    @property
    def is_exhausted(self) -> bool:
        """Whether there are to be no more rewrites."""
        return self.limit is not None and self.count >= self.limit

    def add(self, pattern: str, op: str, location: LocationAttr) -> None:
        """Count a rewrite."""
        self.count += 1
        self.last = self.trying = Rewrite(pattern, op, location)


_counter: ContextVar[RewriteCounter | None] = ContextVar("rewrite counter", default=None)


@contextmanager
def counted_rewrites(counter: RewriteCounter) -> Generator[None]:
    """Let a counter see, and stop, the rewrites of the duration."""
    token = _counter.set(counter)
    try:
        yield
    finally:
        _counter.reset(token)


def may_rewrite(op: Operation, name: str) -> bool:
    """Whether a pass without patterns may make a rewrite now, which counts as one called `name`, and is remarked."""
    if not may_try(op, name):
        return False
    if wanted(RemarkKind.PASSED):
        passed(op, name, f"{name} {op_name(op)}")
    return True


def may_try(op: Operation, name: str) -> bool:
    """Whether a pass may begin a rewrite now, which counts even if nothing comes of it; the pass remarks it."""
    counter = _counter.get()
    if counter is None:
        return True
    if counter.is_exhausted:
        return False
    counter.add(name, op.name, op.location)
    return True


def rewrite_patterns(
    root: Operation, patterns: Iterable[RewritePattern], *, erase_dead: bool = True, graphs: bool = True
) -> bool:
    """Apply `patterns` to the ops nested in `root` until none matches; True if anything changed.

    Ops are visited in program order and patterns are tried in the order given, so the result is the same every time.
    With `erase_dead`, ops without effect whose results are unused are erased on the way. Without `graphs` nothing is
    done in the graphs of backends. NotConvergingError if the patterns go on for ever.
    """
    driver = _Driver(root, patterns, erase_dead, graphs)
    for sweep in range(MAX_SWEEPS):
        if not driver.sweep():
            return sweep > 0
    raise NotConvergingError(f"the IR still changes after {MAX_SWEEPS} sweeps over it")


def rewrite_once(block: Block, pattern: RewritePattern) -> None:
    """Try a pattern on each op of a block once, in program order; not on the ops that it inserts.

    For steps that have an order, each of which takes the block as the one before it left it.
    """
    counter, function, roots = _counter.get(), _remarked_function(block), root_types(pattern)
    for op in list(block.ops):
        if counter is not None and counter.is_exhausted:
            return
        if op.parent is block and isinstance(op, roots):
            name, location, rewriter = op.name, op.location, PatternRewriter(op)
            if counter is not None:
                counter.trying = Rewrite(type(pattern).__name__, name, location)
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                if counter is not None:
                    counter.add(type(pattern).__name__, name, location)
                if function is not None:
                    _remark_rewrite(pattern, name, location, function)
            if counter is not None:
                counter.trying = None


def _remarked_function(where: Operation | Block) -> str | None:
    """The function of what is to be rewritten, if anybody wants to hear of rewrites."""
    return function_of(where) if wanted(RemarkKind.PASSED) else None


def _remark_rewrite(pattern: RewritePattern, op: str, location: LocationAttr, function: str) -> None:
    """Say that a pattern was applied: what it does is the first line of its docstring."""
    kind = type(pattern)
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__.lstrip("_")).lower()
    text = (kind.__doc__ or name.replace("-", " ")).partition("\n")[0].rstrip(".")
    passed(location, name, text, figures={"Op": op}, function=function)


def erase_dead_ops(block: Block, kind: type[Operation] = Operation) -> None:
    """Erase the ops of a kind in a block that have no side effects and no uses, chains of them from the end."""
    for op in reversed(list(block.ops)):
        if isinstance(op, kind) and is_trivially_dead(op):
            op.detach()
            op.erase()


class _Driver:
    def __init__(self, root: Operation, patterns: Iterable[RewritePattern], erase_dead: bool, graphs: bool):
        self._root = root
        self._patterns = [(pattern, root_types(pattern)) for pattern in patterns]
        self._patterns_of: dict[type[Operation], tuple[RewritePattern, ...]] = {}
        self._erase_dead = erase_dead
        self._graphs = graphs
        self._worklist = Worklist()
        self._matched = root
        self._rewriter: PatternRewriter | None = None
        self._rewrites_left = 0
        self._counter = _counter.get()
        self._is_heard = wanted(RemarkKind.PASSED)

    def sweep(self) -> bool:
        """Visit every op once, and then what the rewrites touched; True if anything changed."""
        self._rewrites_left = 100 * MAX_REWRITES
        for op in ops_in_reverse(self._root, graphs=self._graphs):
            self._rewrites_left += MAX_REWRITES
            if self._patterns_for(op) or self._is_dead(op):
                self._worklist.push(op)
        changed = False
        while self._worklist:
            op = self._worklist.pop()
            if self._is_dead(op):
                self._removed(op)
                op.detach()
                op.erase()
                changed = True
            elif patterns := self._patterns_for(op):
                changed |= self._rewrite(op, patterns)
        return changed

    def _is_dead(self, op: Operation) -> bool:
        """Whether an op is to be erased."""
        if not self._erase_dead:
            return False
        for result in op.results:
            if result.first_use is not None:
                return False
        return is_trivially_dead(op)

    def _patterns_for(self, op: Operation) -> tuple[RewritePattern, ...]:
        """The patterns that may match an op, in the order given."""
        kind = type(op)
        patterns = self._patterns_of.get(kind)
        if patterns is None:
            patterns = tuple(pattern for pattern, roots in self._patterns if issubclass(kind, roots))
            self._patterns_of[kind] = patterns
        return patterns

    def _rewrite(self, op: Operation, patterns: Sequence[RewritePattern]) -> bool:
        """Let the first pattern that matches rewrite an op; False if none does."""
        counter = self._counter
        if counter is not None and counter.is_exhausted:
            return False
        rewriter = self._rewriter_before(op)
        self._matched = op
        name, location = op.name, op.location
        function = function_of(op) if self._is_heard else None
        for pattern in patterns:
            if counter is not None:
                counter.trying = Rewrite(type(pattern).__name__, name, location)
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                if self._rewrites_left == 0:
                    raise NotConvergingError(f"{type(pattern).__name__} and the patterns with it rewrite for ever")
                self._rewrites_left -= 1
                if counter is not None:
                    counter.add(type(pattern).__name__, name, location)
                    counter.trying = None
                if function is not None:
                    _remark_rewrite(pattern, name, location, function)
                return True
        if counter is not None:
            counter.trying = None
        return False

    def _rewriter_before(self, op: Operation) -> PatternRewriter:
        """The rewriter, reset for the next pattern."""
        if self._rewriter is None:
            self._rewriter = PatternRewriter(op)
            self._rewriter.extend_from_listener(
                PatternRewriterListener(
                    operation_insertion_handler=[self._inserted],
                    operation_removal_handler=[self._removed],
                    operation_modification_handler=[self._worklist.push],
                    operation_replacement_handler=[self._replaced],
                )
            )
        self._rewriter.insertion_point = InsertPoint.before(op)
        self._rewriter.name_hint = None
        self._rewriter.has_done_action = False
        return self._rewriter

    def _inserted(self, op: Operation) -> None:
        inherit_missing(op, self._matched)
        self._worklist.push(op)

    def _removed(self, op: Operation) -> None:
        going = [op, *ops_in(op, Operation)]
        for inner in going:
            for operand in inner.operands:
                # The op that defines it may now be dead, or have only one user left, which patterns may require.
                if isinstance(owner := operand.owner, Operation):
                    self._worklist.push(owner)
        for inner in going:
            self._worklist.remove(inner)

    def _replaced(self, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        for result in op.results:
            for use in result.uses:
                self._worklist.push(use.operation)
