"""Which sizes a program's inputs may have: the named data `xir.sizes` (`xir/schema/sizes.fbs`).

The format has the largest shapes alone, and not which of their sizes are fixed. Stock ExecuTorch does not look at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from xir.dialects.pte import ExecutionPlanOp
from xir.emitter.codec import Tree, encode
from xir.emitter.fbs import load_schema

SIZES_KEY = "xir.sizes"


def encode_sizes(plans: Iterable[ExecutionPlanOp]) -> bytes:
    """The data; nothing if no plan says anything of its inputs' sizes."""
    methods = [_method(plan) for plan in plans]
    return encode(load_schema("sizes"), {"methods": methods}) if any(methods) else b""


def _method(plan: ExecutionPlanOp) -> Tree:
    if plan.input_sizes is None:
        return {}
    numbers = count()
    symbols: dict[str, int] = {}
    inputs: list[Tree] = []
    for texts in plan.input_sizes:
        named = [text.data.partition(">=") for text in texts]
        tree: Tree = {
            "symbols": [
                -1 if not name else next(numbers) if name == "?" else symbols.setdefault(name, next(numbers))
                for name, _, _ in named
            ],
            "least": [int(least or 0) for _, _, least in named],
        }
        inputs.append(tree if any(name for name, _, _ in named) else {})
    return {"inputs": inputs}
