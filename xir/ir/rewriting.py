"""The pattern driver: xDSL's rewrite patterns, tried by the type of op that they match.

Against xDSL's own walker: patterns are looked up by `type(op)` instead of tried in turn, an op built by a pattern gets
the location and origins of the op that was matched, what becomes dead is erased at once, and the work list is seeded
once and followed to its end.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from types import UnionType
from typing import Union, get_args, get_origin

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, RewritePattern
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xir.ir.provenance import inherit_missing

MAX_SWEEPS = 10
"""How often the whole IR is looked at again, for patterns that match further than an op and its neighbours."""


def rewrite_patterns(root: Operation, patterns: Iterable[RewritePattern], *, erase_dead: bool = True) -> bool:
    """Apply `patterns` to the ops nested in `root` until none matches; True if anything changed.

    Ops are visited in program order and patterns are tried in the order given, so the result is the same every time.
    A pattern is tried on the op types that it declares (`matched_types`). With `erase_dead`, ops without effect whose
    results are unused are erased on the way.
    """
    driver = _Driver(root, patterns, erase_dead)
    sweeps = 0
    while sweeps < MAX_SWEEPS and driver.sweep():
        sweeps += 1
    return sweeps > 0


def rewrite_once(block: Block, pattern: RewritePattern) -> None:
    """Try a pattern on each op of a block once, in program order; not on the ops that it inserts.

    For steps that have an order, each of which takes the block as the one before it left it.
    """
    for op in list(block.ops):
        if op.parent is block:
            pattern.match_and_rewrite(op, PatternRewriter(op))


def erase_dead_ops(block: Block, kind: type[Operation] = Operation) -> None:
    """Erase a block's ops of a kind that have no effect and whose results are unused, chains from their end."""
    for op in reversed(list(block.ops)):
        if isinstance(op, kind) and is_trivially_dead(op):
            op.detach()
            op.erase()


def matched_types(pattern: RewritePattern) -> tuple[type[Operation], ...]:
    """The op types that a pattern can match: what its `match_and_rewrite` declares for the op, else every op.

    Understands xDSL's `@op_type_rewrite_pattern`, which keeps the declared types in its closure, and a plain method
    with an annotation.
    """
    method = type(pattern).match_and_rewrite
    declared = inspect.getclosurevars(method).nonlocals.get("expected_type")
    if declared is None:
        parameters = list(inspect.signature(method, eval_str=True).parameters.values())
        declared = parameters[1].annotation
    types = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    return tuple(t if isinstance(t, type) and issubclass(t, Operation) else Operation for t in types)


class _Worklist:
    """A stack of ops without repetitions."""

    def __init__(self) -> None:
        self._stack: list[Operation | None] = []
        self._index: dict[int, int] = {}

    def push(self, op: Operation) -> None:
        if id(op) not in self._index:
            self._index[id(op)] = len(self._stack)
            self._stack.append(op)

    def remove(self, op: Operation) -> None:
        index = self._index.pop(id(op), None)
        if index is not None:
            self._stack[index] = None

    def pop(self) -> Operation | None:
        while self._stack:
            op = self._stack.pop()
            if op is not None:
                del self._index[id(op)]
                return op
        return None


class _Driver:
    def __init__(self, root: Operation, patterns: Iterable[RewritePattern], erase_dead: bool):
        self._root = root
        self._patterns = [(matched_types(pattern), pattern) for pattern in patterns]
        self._by_type: dict[type[Operation], list[RewritePattern]] = {}
        self._erase_dead = erase_dead
        self._worklist = _Worklist()
        self._matched: Operation = root

    def sweep(self) -> bool:
        """Visit every op once, and then what the rewrites touched; True if anything changed."""
        for op in self._root.walk(reverse=True, region_first=True):
            if op is not self._root:
                self._worklist.push(op)
        listener = PatternRewriterListener(
            operation_insertion_handler=[self._inserted],
            operation_removal_handler=[self._removed],
            operation_modification_handler=[self._worklist.push],
            operation_replacement_handler=[self._replaced],
        )
        rewriter: PatternRewriter | None = None
        changed = False
        while (op := self._worklist.pop()) is not None:
            if self._erase_dead and is_trivially_dead(op):
                self._removed(op)
                op.detach()
                op.erase()
                changed = True
                continue
            patterns = self._patterns_for(type(op))
            if not patterns:
                continue
            if rewriter is None:
                rewriter = PatternRewriter(op)
                rewriter.extend_from_listener(listener)
            rewriter.insertion_point = InsertPoint.before(op)
            rewriter.name_hint = None
            rewriter.has_done_action = False
            self._matched = op
            for pattern in patterns:
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    changed = True
                    break
        return changed

    def _patterns_for(self, op_type: type[Operation]) -> list[RewritePattern]:
        patterns = self._by_type.get(op_type)
        if patterns is None:
            patterns = [pattern for types, pattern in self._patterns if issubclass(op_type, types)]
            self._by_type[op_type] = patterns
        return patterns

    def _inserted(self, op: Operation) -> None:
        inherit_missing(op, self._matched)
        self._worklist.push(op)

    def _removed(self, op: Operation) -> None:
        going = list(op.walk())
        for inner in going:
            for operand in inner.operands:
                # Its definition may be dead now, or have the single user that a pattern waits for.
                if isinstance(owner := operand.owner, Operation):
                    self._worklist.push(owner)
        for inner in going:
            self._worklist.remove(inner)

    def _replaced(self, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        for result in op.results:
            for use in result.uses:
                self._worklist.push(use.operation)
