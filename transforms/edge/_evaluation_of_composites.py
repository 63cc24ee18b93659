"""What composites compute of values that are known at compile time: what the ops that they mean do, in their types."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import Dequantize, Quantize
from xir.ir.elements import stored, values_of
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.edge._evaluation import KnownCall, NotFoldedError, result_type
from xir.transforms.edge._evaluation_arithmetic import EVALUATORS
from xir.transforms.edge.decompositions import Expansion, expanded


def is_evaluated(op: edge.EdgeOp) -> bool:
    """Whether an op of one result, or each that it means, has an evaluator.

    Conversions to and from integers have none: nodes take the integers of a filter, and their scales.
    """
    if len(op.results) != 1 or isinstance(op, Quantize | Dequantize):
        return False
    if op.name in EVALUATORS:
        return True
    with parts_of(op) as meant:
        return meant is not None and all(map(is_evaluated, meant.ops))


def evaluate(op: edge.EdgeOp, arrays: Mapping[SSAValue, np.ndarray]) -> np.ndarray:
    """The elements of an op's one result, as they are stored; NotEvaluatedError for one that is not evaluated."""
    element = result_type(op).element_type
    if (evaluator := EVALUATORS.get(op.name)) is not None:
        return stored(evaluator(op, KnownCall(op, arrays)), element)
    with parts_of(op) as meant:
        if meant is None:
            raise NotFoldedError
        known = dict(arrays)
        for part in meant.ops:
            known[part.results[0]] = values_of(evaluate(part, known), result_type(part).element_type)
        return stored(known[meant.results[0]], element)


@contextmanager
def parts_of(op: edge.EdgeOp) -> Generator[Expansion | None]:
    """What an op means, until it is left; None if it is no composite."""
    try:
        meant = expanded(op)
    except RefusalError:
        meant = None
    try:
        yield meant
    finally:
        for part in reversed(meant.ops if meant else ()):
            part.erase()
