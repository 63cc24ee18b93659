"""Which ops backends take: trying the ops of a block, and the attributes that record the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import (
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from xir.backend.interface import Taken, Trial
from xir.dialects import edge
from xir.dialects.delegate import GraphOp
from xir.ir.annotations import BACKEND, LOOKED_THROUGH, NODES, ONLY_MOVES, ORIGINS, REASON, TAKEN_BACK
from xir.ir.context import XirContext
from xir.ir.diagnostics import Severity
from xir.ir.provenance import set_origins
from xir.ir.remarks import Figure, Remark, RemarkKind, function_of, sentence
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import functions_in, only_block, ops_in
from xir.transforms.analysis.cost import bytes_moved
from xir.transforms.analysis.refusal import Refusal, RefusalError
from xir.transforms.analysis.static_tensor import is_static
from xir.transforms.delegate.forming.op_filter import OpSelection

COUNTED_OUT = Refusal("a debug counter keeps it outside")
READ_OUTSIDE = Refusal("it is a constant that ops outside read, and no graph returns one")


@dataclass(frozen=True, kw_only=True)
class NotDelegated(Remark):
    """The remark about an op that is not delegated, which nobody has to ask for."""

    op: str
    """What users know the op by."""
    backend: str
    """The backend that does not take it."""

    @staticmethod
    def of(op: Operation, backend: str, refusal: RefusalError, pass_name: str) -> NotDelegated:
        """The remark about an op that a backend refuses; one that was taken back failed."""
        name, reason, hint = name_of(op), refusal.reason, refusal.hint
        is_late = isinstance(refusal, TakenBackError)
        by, text = refusal.by if is_late else pass_name, f"{name} not delegated"
        figures: dict[str, Figure] = {"Op": name, "Backend": backend}
        if (moved := bytes_moved(op)) is not None:
            figures["BytesMoved"] = moved
        return NotDelegated(
            Severity.REMARK,
            op.location,
            sentence(by, text, reason, hint),
            kind=RemarkKind.FAILED if is_late else RemarkKind.MISSED,
            category=by.partition("{")[0],
            name="not-delegated",
            text=text,
            function=function_of(op),
            reason=reason,
            hint=hint,
            figures=tuple(figures.items()),
            op=name,
            backend=backend,
        )


@dataclass
class Marks:
    """Which of a block's ops the backends take."""

    taken: dict[Operation, Taken] = field(default_factory=dict[Operation, Taken])
    """In program order."""
    backends: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The backend of each op that is taken."""
    along: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The ops that may go along with those that read them, in program order: those that a backend looks through, with
    its name, and those on sizes, with `ANY`."""

    def leave(self, op: Operation) -> None:
        """Leave out an op that had been taken."""
        discard(self.taken.pop(op))
        del self.backends[op]


ANY = "any"
"""Stands for any backend in place of its name."""

Refuse = Callable[[Operation, RefusalError], None]


def function_blocks(module: ModuleOp) -> Iterator[Block]:
    """The bodies of a module's functions."""
    for function in functions_in(module):
        yield only_block(function)


def mark(block: Block, backend: str, trial: Trial, selection: OpSelection, marks: Marks, refuse: Refuse) -> None:
    """Add to `marks` the ops of a block that a backend takes; those that are dead or do nothing are gone afterwards."""
    erase_dead_ops(block, edge.EdgeOp)
    trial.begin(block)

    def take(op: edge.EdgeOp) -> Taken:
        if (refusal := taken_back(op, backend)) is not None:
            raise refusal
        selection.check(op)
        if not may_try(op, "delegate"):
            raise COUNTED_OUT()
        return trial.take(op)

    reopen_graphs(block, backend, trial, marks)
    try_ops(block, backend, take, trial.looks_through, marks, refuse)


def reopen_graphs(block: Block, backend: str, trial: Trial, marks: Marks) -> None:
    """Add to `marks` the graphs that a backend has already, so that other ops can join them."""
    for op in block.ops:
        if isinstance(op, GraphOp) and backend == op.BACKEND and op not in marks.backends and trial.joins(op):
            marks.taken[op], marks.backends[op] = reopened(op), backend


def try_ops(
    block: Block,
    backend: str,
    take: Callable[[edge.EdgeOp], Taken],
    looks_through: Callable[[edge.EdgeOp], bool],
    marks: Marks,
    refuse: Refuse,
) -> None:
    """Add to `marks` the ops of a block that a backend takes, but for those that are taken already.

    One that does nothing goes away.
    """
    had_some = bool(marks.taken)
    looked_through: list[edge.EdgeOp] = []
    sizes: dict[Operation, str] = {}
    for op in list(block.ops):
        if not isinstance(op, edge.EdgeOp) or op in marks.backends or op in marks.along:
            continue
        if computes_sizes(op):
            sizes[op] = ANY
        elif looks_through(op):
            looked_through.append(op)
        else:
            try_op(op, backend, take, marks, refuse)
    # In reverse order, since whether an op still has users depends on the ops behind it. Ops without users go along.
    for op in reversed(looked_through):
        if goes_along(op, backend, marks.backends, marks.along):
            marks.along[op] = backend
        elif is_static(op.results[0]) and is_read_outside(op, marks):
            refuse(op, READ_OUTSIDE())
        else:
            try_op(op, backend, take, marks, refuse)
    along = marks.along | sizes
    if looked_through or marks.along or had_some:
        marks.taken = {op: marks.taken[op] for op in block.ops if op in marks.taken}
        along = {op: along[op] for op in block.ops if op in along}
    marks.along = along


def reopened(graph: GraphOp) -> Taken:
    """A graph's ops, as if its backend had built them now. An argument of another type than its operand, such as a
    quantised one, becomes a cast, as rules build them."""
    inside: dict[SSAValue, SSAValue] = {}
    casts: list[Operation] = []
    for argument, operand in zip(graph.block.args, graph.operands, strict=True):
        inside[argument] = operand
        if operand.type != argument.type:
            casts.append(UnrealizedConversionCastOp.create(operands=[operand], result_types=[argument.type]))
            inside[argument] = casts[-1].results[0]
    built = [op.clone(inside) for op in graph.block.ops if op is not graph.block.last_op]
    nodes = sum(not op.has_trait(ConstantLike) for op in built)
    return Taken(nodes, built=[*casts, *built], values=[inside[value] for value in graph.block_outputs])


def try_op(op: edge.EdgeOp, backend: str, take: Callable[[edge.EdgeOp], Taken], marks: Marks, refuse: Refuse) -> None:
    """Add one op, or report why not. An op that does nothing is removed."""
    try:
        taken = take(op)
    except RefusalError as error:
        refuse(op, error)
        return
    if not taken.does_nothing:
        marks.taken[op] = taken
        marks.backends[op] = backend
        op.attributes.pop(REASON, None)
        return
    discard(taken)
    for old, new in zip(op.results, taken.values or (), strict=False):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def goes_along(op: Operation, backend: str, taken: Mapping[Operation, str], along: Mapping[Operation, str]) -> bool:
    """Whether all that read an op are of a backend, or of `ANY`; what was built of other ops is of none."""
    for result in op.results:
        for use in result.uses:
            reader = taken.get(use.operation) or along.get(use.operation)
            if reader is None or (backend != ANY and reader != backend):
                return False
    return True


def is_read_outside(op: Operation, marks: Marks) -> bool:
    """Whether an op of the block that is not taken reads another one; what was built of ops is in no block."""
    readers = (use.operation for result in op.results for use in result.uses)
    return any(
        reader.parent is not None and reader not in marks.backends and reader not in marks.along for reader in readers
    )


def computes_sizes(op: Operation) -> bool:
    """Whether an op's results are numbers, such as sizes, and no tensors."""
    results = op.results
    if len(results) == 1:
        return not isinstance(results[0].type, TensorType)
    return bool(results) and not any(isinstance(result.type, TensorType) for result in results)


def discard(taken: Taken) -> None:
    """Drop what was built for an op, so that it does not count as a user of the program's values."""
    for op in reversed(taken.built):
        op.erase()


# What marked ops say.


def write_marks(marks: Marks) -> None:
    """Record on each op which backend takes it, and drop what was built."""
    for op, backend in marks.along.items():
        if backend != ANY:
            op.attributes |= {BACKEND: StringAttr(backend), LOOKED_THROUGH: UnitAttr()}
    for op, taken in marks.taken.items():
        discard(taken)
        op.attributes[BACKEND] = StringAttr(marks.backends[op])
        if taken.nodes != 1:
            op.attributes[NODES] = IntegerAttr(taken.nodes, i64)
        if taken.only_moves:
            op.attributes[ONLY_MOVES] = UnitAttr()


def read_marks(block: Block) -> Marks:
    """The marks that the ops of a block carry."""
    marks = Marks()
    for op in block.ops:
        if computes_sizes(op):
            marks.along[op] = ANY
        if not isinstance(backend := op.attributes.get(BACKEND), StringAttr):
            continue
        if LOOKED_THROUGH in op.attributes:
            marks.along[op] = backend.data
            continue
        marks.backends[op] = backend.data
        nodes = op.attributes.get(NODES)
        count = nodes.value.data if isinstance(nodes, IntegerAttr) else 1
        marks.taken[op] = Taken(nodes=count, only_moves=ONLY_MOVES in op.attributes)
    return marks


def erase_marks(ops: Iterable[Operation]) -> None:
    """Remove what `write_marks` wrote."""
    for op in ops:
        for name in (BACKEND, NODES, ONLY_MOVES, LOOKED_THROUGH):
            op.attributes.pop(name, None)


# Ops that stay outside.


def reporter(ctx: XirContext, pass_name: str, backend: str) -> Refuse:
    """A function that reports ops as not delegated to a backend, and writes the reason on them."""

    def report(op: Operation, refusal: RefusalError) -> None:
        op.attributes[REASON] = StringAttr(refusal.reason)
        ctx.diagnostics.emit(NotDelegated.of(op, backend, refusal, pass_name))

    return report


def name_of(op: Operation) -> str:
    """What users know an op by."""
    return op.operator_name if isinstance(op, edge.EdgeOp) else op.name


def number_origins(ctx: XirContext, module: ModuleOp) -> None:
    """Number the edge ops, if a later pass needs the origins of nodes and the ops have no numbers yet."""
    ops = list(ops_in(module, edge.EdgeOp)) if ctx.tracks_origins else []
    if not any(ORIGINS in op.attributes for op in ops):
        for number, op in enumerate(ops):
            set_origins(op, (number,))


class TakenBackError(RefusalError):
    """A backend refuses what passes have turned an op into. `by` is the pass that found out."""

    def __init__(self, by: str, reason: str):
        super().__init__(reason)
        self.by = by


def taken_back(op: Operation, backend: str) -> TakenBackError | None:
    """Why a backend is kept from taking an op, which this forgets; None if it is not."""
    refusals = late_refusals(op)
    if (refusal := refusals.pop(backend, None)) is None:
        return None
    if refusals:
        op.attributes[TAKEN_BACK] = DictionaryAttr(refusals)
    else:
        del op.attributes[TAKEN_BACK]
    assert isinstance(refusal, DictionaryAttr)
    by, reason = refusal.data["pass"], refusal.data["reason"]
    assert isinstance(by, StringAttr)
    assert isinstance(reason, StringAttr)
    return TakenBackError(by.data, reason.data)


def late_refusals(op: Operation) -> dict[str, Attribute]:
    """The entries of an op's `xir.taken_back`, by backend."""
    attribute = op.attributes.get(TAKEN_BACK)
    return dict(attribute.data) if isinstance(attribute, DictionaryAttr) else {}


def take_back(module: ModuleOp, refused: Mapping[int, str], backend: str, by: str) -> None:
    """Keep a backend from taking the ops of these numbers, and say why, and which pass found it."""
    ops = list(ops_in(module, edge.EdgeOp))
    for number, reason in refused.items():
        refusal = DictionaryAttr({"pass": StringAttr(by), "reason": StringAttr(reason)})
        known = late_refusals(ops[number])
        ops[number].attributes[TAKEN_BACK] = DictionaryAttr({backend: refusal, **known})
