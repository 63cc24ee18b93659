"""Which refusals a rule's code can raise: those that it names, and those of the functions that it calls."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from xir.transforms.analysis.refusal import Refusal
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder

ASKING = ("bias", "numbers", "weight")
"""The builder's methods that refuse what is no constant. Its others, which nearly all rules call, build nodes."""


def reachable_refusals(rule: Callable[..., Any]) -> list[Refusal]:
    """The refusals within reach, in the order in which they are met."""
    assert isinstance(rule, FunctionType)
    pending, seen, found = [rule], {rule}, dict[int, Refusal]()
    while pending:
        function = pending.pop(0)
        for each in named_in(function.__code__, function.__globals__):
            if isinstance(each, Refusal):
                found[id(each)] = each
            elif isinstance(each, FunctionType) and each.__module__.startswith("xir.") and each not in seen:
                seen.add(each)
                pending.append(each)
    return list(found.values())


def named_in(code: CodeType, names: dict[str, Any]) -> Iterator[object]:
    """What a function's code means by global names, and by attributes that are methods of the builder or properties."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield names.get(instruction.argval)
        elif instruction.opname in ("LOAD_METHOD", "LOAD_ATTR"):
            if instruction.argval in ASKING:
                yield getattr(NodeBuilder, instruction.argval)
            else:
                yield from (getter(each, instruction.argval) for each in names.values() if isinstance(each, type))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from named_in(constant, names)


def getter(owner: type, name: str) -> object:
    """The function of a property of a class."""
    found = vars(owner).get(name)
    return found.fget if isinstance(found, property) else None
