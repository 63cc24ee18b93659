"""`skip-masked-keys`: keys that a constant mask hides from all queries, or from half of 128."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf

import numpy as np

from proofs.graphs import Graph, dense
from proofs.proof import Reading, prove_all
from xir.transforms.xnnpack.optimize.skip_masked_keys import SkipMaskedKeysPass

SKIP = SkipMaskedKeysPass(overhead=0)


def attention(mask: np.ndarray, queries: int, *, is_scaled: bool) -> str:
    """softmax(q · k + mask) · v, of one feature."""
    graph = Graph()
    keys = mask.shape[-1]
    q, k, v = graph.input(queries, 1), graph.input(1, keys), graph.input(keys, 1)
    value = graph.matrix_multiply(q, k)
    if is_scaled:
        value = graph.binary("multiply", value, graph.number(np.array(0.5, np.float32)))
    added = graph.number(np.zeros(mask.shape, np.float32))
    graph.lines[-1] = f"{added.name} = xnnpack.constant {dense(mask.astype(np.float32))} : {added.type}"
    value = graph.node("softmax {}", [graph.binary("add", value, added)], (queries, keys))
    return graph.text(graph.matrix_multiply(value, v))


def padded() -> Iterator[str]:
    """Each mask of three keys for two queries that share it."""
    for number, mask in enumerate(product((-3.0, -1e30, -inf), repeat=3)):
        yield attention(np.array(mask), 2, is_scaled=number % 2 == 0)


def halves() -> Iterator[str]:
    """Of 128 queries each half sees other keys; one of the second half sees another key more."""
    for first in ((0, -inf, -inf), (-inf, 0, -inf)):
        mask = np.array([first] * 64 + [(-inf, -inf, 0)] * 64)
        mask[99] = (-inf, 0, 0)
        yield attention(mask, 128, is_scaled=False)


NUMBERS = Reading(weights=False)


def test_padded() -> None:
    prove_all(padded(), SKIP, at_least=8, reading=NUMBERS)


def test_halves() -> None:
    prove_all(halves(), SKIP, at_least=2, reading=NUMBERS)
