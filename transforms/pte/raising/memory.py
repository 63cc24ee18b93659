"""What the memory of a plan holds at each instruction, as values of a function.

A plan names places, a function names values. Tensors whose lifetimes do not overlap share bytes of an arena, so one may
be overwritten through another. And a reshaped tensor may be a second name for the same bytes, without an instruction
between them: ExecuTorch leaves such views out. Therefore bytes count here, not names: a tensor holds what was last
written to exactly its bytes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, pte
from xir.ir.constants import dense_elements
from xir.ir.location import Locatable
from xir.transforms.pte.raising.open_sizes import OpenSizes, is_open
from xir.transforms.pte.raising.refusal import NotRaisedError


@dataclass(frozen=True)
class Place:
    """Bytes of an arena."""

    arena: int
    start: int
    end: int

    @staticmethod
    def of(tensor: pte.TensorOp) -> Place | None:
        """Where a tensor lies; None for one that the caller hands in, a constant, and one without elements."""
        allocation = tensor.allocation_info
        if allocation is None or tensor.nbytes == 0:
            return None
        start = allocation.offset.data
        return Place(allocation.memory_id.data, start, start + tensor.nbytes)

    def overlaps(self, other: Place) -> bool:
        """Whether both have a byte in common."""
        return self.arena == other.arena and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Held:
    """A tensor that was written, and the value of the function that it holds, of the tensor's logical shape."""

    tensor: pte.TensorOp
    value: SSAValue


MOST_UNNAMED = 1000
"""More buffers without a name than a program has; each is compared with all places."""


class _Arena:
    """The places of an arena that hold something, none of which overlap, in order."""

    def __init__(self) -> None:
        self.held: dict[Place, Held] = {}
        self._sorted: list[Place] = []

    def overlapping(self, place: Place) -> list[Place]:
        """Those that have a byte in common with a place."""
        first = bisect_right(self._sorted, place.start, key=lambda each: each.end)
        last = bisect_left(self._sorted, place.end, key=lambda each: each.start)
        return self._sorted[first:last]

    def put(self, place: Place, held: Held) -> None:
        """Let a place hold a tensor, which is all that is left of what it overlaps."""
        for other in (gone := self.overlapping(place)):
            del self.held[other]
        first = bisect_right(self._sorted, place.start, key=lambda each: each.end)
        self._sorted[first : first + len(gone)] = [place]
        self.held[place] = held


def _places_of(plan: pte.ExecutionPlanOp) -> Iterator[Place]:
    for op in plan.values:
        if isinstance(op, pte.TensorOp) and (place := Place.of(op)) is not None:
            yield place


class PlaceContents:
    """Follows the tensors of one plan. `add` appends an op to the function."""

    def __init__(self, plan: pte.ExecutionPlanOp, sizes: OpenSizes, add: Callable[[Operation], None]):
        self._plan = plan
        self.sizes = sizes
        self._add = add
        self._inputs = {value.owner for value in plan.signature.inputs}
        self._arenas: dict[int, _Arena] = {}
        self._apart: dict[pte.TensorOp, SSAValue] = {}
        """What tensors hold that lie in no arena."""
        self.computed = _computed(plan)
        """The numbers that instructions set."""
        self.numbers: dict[SSAValue, SSAValue] = {}
        """What they have been set to."""
        self.buffers: dict[pte.TensorOp, edge.MutableBufferOp] = {}
        """What is kept from one call to the next, by the first tensor of the plan that names it."""
        for op in plan.values:
            if isinstance(op, pte.TensorOp) and op.buffer is not None:
                self._keep(op, op.buffer)

    def write(self, tensor: pte.TensorOp, value: SSAValue) -> None:
        """Let a tensor hold a value of its logical type."""
        place = Place.of(tensor)
        if place is None:
            self._apart[tensor] = value
        else:
            self._arenas.setdefault(place.arena, _Arena()).put(place, Held(tensor, value))

    def compute(self, tensor: pte.TensorOp, value: SSAValue, where: Locatable) -> None:
        """Let a tensor hold what an instruction writes; NotRaisedError if callers see that, or it is a constant."""
        if tensor in self._inputs:
            raise NotRaisedError(where, "it changes an input")
        if tensor.is_constant:
            raise NotRaisedError(where, "it changes a constant")
        self.write(tensor, value)

    def read(self, tensor: pte.TensorOp, where: Locatable) -> SSAValue:
        """What a tensor holds; NotRaisedError if that is not one value of the function."""
        if tensor.is_constant:
            return self._constant(tensor)
        place = Place.of(tensor)
        if place is None:
            if tensor.is_apart:
                raise NotRaisedError(where, "it reads a tensor whose contents are in another file")
            if tensor not in self._apart:
                raise NotRaisedError(where, "it reads a tensor that no instruction has written")
            return self._apart[tensor]
        held = self._held(place)
        if held is None:
            if self._arenas.setdefault(place.arena, _Arena()).overlapping(place):
                raise NotRaisedError(where, "it reads memory that another tensor has overwritten in part")
            self._keep_unnamed(tensor, place, where)
            held = self._held(place)
            assert held is not None
        return held.value if held.tensor is tensor else self._seen_as(tensor, held, where)

    def _held(self, place: Place) -> Held | None:
        arena = self._arenas.get(place.arena)
        return None if arena is None else arena.held.get(place)

    def contents(self, tensor: pte.TensorOp) -> SSAValue:
        """What the memory of a buffer holds."""
        return self.read(tensor, tensor)

    def _constant(self, tensor: pte.TensorOp) -> SSAValue:
        if tensor not in self._apart:
            assert isinstance(tensor.data, DenseIntOrFPElementsAttr | DenseResourceAttr)
            op = edge.ConstantOp(tensor.data)
            op.location = tensor.location
            self._add(op)
            self._apart[tensor] = permuted(op.result, restoring(tensor.order), self._add)
        return self._apart[tensor]

    def _seen_as(self, tensor: pte.TensorOp, held: Held, where: Locatable) -> SSAValue:
        """The value under another tensor's name: the same bytes in another shape."""
        if is_open(tensor) or is_open(held.tensor):
            raise NotRaisedError(where, "it reads memory under another name, whose sizes are open")
        if tensor.tensor_type.element_type != held.tensor.tensor_type.element_type:
            raise NotRaisedError(where, "it reads the bytes of a tensor as another type")
        if tensor.shape == held.tensor.shape and tensor.order == held.tensor.order:
            return held.value
        in_memory = permuted(held.value, held.tensor.order, self._add)
        view = edge.ViewOp(self=in_memory, size=tensor.memory_shape, location=tensor.location)
        self._add(view)
        return permuted(view.results[0], restoring(tensor.order), self._add)

    # State.

    def _keep(self, tensor: pte.TensorOp, name: str) -> None:
        """Begin a buffer, whose first contents are the file's, or zeros."""
        place = Place.of(tensor)
        if place is not None and self._held(place) is not None:
            return  # another name of it
        if tensor.shape_dynamism.value.data:
            raise NotRaisedError(tensor, "the sizes of a mutable buffer are open")
        if tensor.order != tuple(range(len(tensor.order))):
            raise NotRaisedError(tensor, "a mutable buffer's dimensions lie in another order in memory")
        zero = bytes(pte.element_size(tensor.tensor_type.element_type))
        initial = tensor.data
        if initial is None:
            initial = dense_elements(cast("TensorType[AnyDenseElement]", tensor.tensor_type), zero)
        op = edge.MutableBufferOp(name, initial, tensor.location)
        self._add(op)
        self.buffers[tensor] = op
        self.write(tensor, op.result)

    def _keep_unnamed(self, tensor: pte.TensorOp, place: Place, where: Locatable) -> None:
        """What is read before it is written is what the last call left: a buffer, if nothing else uses the bytes.

        ExecuTorch writes no names of buffers unless told to.
        """
        if len(self.buffers) >= MOST_UNNAMED or any(used != place and used.overlaps(place) for used in self._places):
            raise NotRaisedError(where, "it reads memory that no instruction has written")
        if place.arena in self._shared_arenas:
            raise NotRaisedError(where, "it keeps a tensor without a name in memory that methods may share")
        self._keep(tensor, f"{self._plan.sym_name.data}_buffer_{place.arena}_{place.start}")

    @cached_property
    def _places(self) -> set[Place]:
        return set(_places_of(self._plan))

    @cached_property
    def _shared_arenas(self) -> set[int]:
        """The arenas but the first that other methods have tensors in: ExecuTorch may give methods the same memory."""
        program = self._plan.parent_op()
        plans = program.plans if isinstance(program, pte.ProgramOp) else ()
        return {place.arena for plan in plans if plan is not self._plan for place in _places_of(plan)} - {1}


def _computed(plan: pte.ExecutionPlanOp) -> set[SSAValue]:
    """What moves write to, and what kernels return, their last argument."""
    found: set[SSAValue] = set()
    for op in (op for chain in plan.chains for op in chain.instructions):
        if isinstance(op, pte.MoveOp):
            found.add(op.move_to)
        elif isinstance(op, pte.KernelCallOp) and op.args:
            found.add(op.args[-1])
    return found


def permuted(value: SSAValue, dims: tuple[int, ...], add: Callable[[Operation], None]) -> SSAValue:
    """A value with its dimensions in another order; itself where it is the same."""
    assert isinstance(value.type, TensorType)
    if dims == tuple(range(len(dims))):
        return value
    op = edge.PermuteOp(self=value, dims=dims)
    add(op)
    return op.results[0]


def restoring(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation from the order of memory to a tensor's own."""
    return tuple(order.index(dim) for dim in range(len(order)))
