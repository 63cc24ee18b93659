"""How an op of the dialect is written on the wire.

Each op class names its union members and the slots of its flatbuffer table, in slot order. The emitter, the reader,
`xir/schema/xnnpack.fbs` and the C++ dispatch are all made from these facts, so there is no serialisation code per op.

Source of tags and slots: `backends/xnnpack/serialization/runtime_schema.fbs` of ExecuTorch 1.5. Tags from 128 up are
xir's own and are written only for `target = "xir"`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIRST_XIR_TAG = 128
"""Union tags from here up are unknown to stock ExecuTorch."""

ABSENT_VALUE = 0xFFFFFFFF
"""The id on the wire of an operand that is not there (XNN_INVALID_VALUE_ID)."""


@dataclass(frozen=True)
class ValueSlot:
    """A u32 value id: operand or result `field`; of a variadic operand, its element `index`."""

    name: str
    field: str
    index: int | None = None


@dataclass(frozen=True)
class UIntSlot:
    """A u32 taken from property `field`; of an array property, its element `index`."""

    name: str
    field: str
    index: int | None = None


@dataclass(frozen=True)
class FloatSlot:
    """An f32 taken from property `field`."""

    name: str
    field: str


@dataclass(frozen=True)
class UIntsSlot:
    """A vector of u32 taken from array property `field`."""

    name: str
    field: str


@dataclass(frozen=True)
class CountSlot:
    """A u32 that repeats the length of array property `field`."""

    name: str
    field: str


@dataclass(frozen=True)
class DerivedSlot:
    """A u32 that repeats what the op knows otherwise: attribute `field` of the op object.

    The reader does not store it; it checks that the op it built gives the same number.
    """

    name: str
    field: str


@dataclass(frozen=True)
class ConstSlot:
    """A u32 that is always `value`."""

    name: str
    value: int


@dataclass(frozen=True)
class FlagsSlot:
    """The node's flags: one bit for each unit property that is set."""

    bits: Mapping[str, int]
    name: str = "flags"


Slot = ValueSlot | UIntSlot | FloatSlot | UIntsSlot | CountSlot | DerivedSlot | ConstSlot | FlagsSlot


@dataclass(frozen=True)
class Member:
    """One alternative of `XNodeUnion`."""

    name: str
    tag: int

    @property
    def is_xir_only(self) -> bool:
        return self.tag >= FIRST_XIR_TAG


@dataclass(frozen=True)
class Wire:
    """The wire form of one op class.

    `members` maps the value of the selecting property (`kind`), or the number of variadic operands, to a union member.
    An op that is always the same member has the single key `None`. `bounds` says where the node's
    `output_min_max` goes: "optional" when the op has output bounds, "required" when they are what the node does,
    "none" when the node has none.
    """

    table: str
    members: Mapping[str | int | None, Member]
    slots: Sequence[Slot]
    bounds: str = "none"


def one(name: str, tag: int) -> Mapping[str | int | None, Member]:
    """The members of an op that is always the same union member."""
    return {None: Member(name, tag)}


RESERVED = {36: "XNNScaledDotProductAttention"}
"""Members that ExecuTorch's schema has and its runtime refuses; no op of ours is written as one of them."""
