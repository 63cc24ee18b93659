"""Look-ups whose indices are known in part: as right as eager, and few kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects.pte import DelegateCallOp, KernelCallOp

IDS = torch.tensor([[5, 3, 9, 1, 1], [7, 1, 1, 1, 1], [1, 5, 1, 7, 9]])


Added = Callable[[Any, Tensor], Tensor]
"""What a function of the model, which has tables and positions, and the ids adds to the rows of tokens."""


def embeddings(added: Added) -> nn.Module:
    torch.manual_seed(0)
    parts = {"types": torch.zeros(1, 12, dtype=torch.long), "steps": torch.arange(12)[None]}
    tables = {"tokens": nn.Embedding(10, 8), "table": nn.Embedding(12, 8)}
    return Calling(lambda m, ids: torch.tanh(m.tokens(ids) + added(m, ids)), **tables, **parts).eval()


def past_padding(model: Any, ids: Tensor) -> Tensor:
    """Positions that do not count padding, as RoBERTa has them."""
    kept = ids.ne(1).int()
    positions = (torch.cumsum(kept, 1).type_as(kept) + 0) * kept
    return model.table(positions.long() + 1)


def types_by_position(model: Any, ids: Tensor) -> Tensor:
    """Token types that are all one, looked up by position."""
    types = model.types.expand(ids.shape[0], -1).gather(1, model.steps[:, : ids.shape[1]].expand(ids.shape[0], -1))
    return model.table(types)


ONE = {"embedding.out": 1}
CASES: dict[str, tuple[Added, dict[str, int]]] = {
    "past padding": (past_padding, {"ne.Scalar_out": 1, "cumsum.out": 1, "mul.out": 1, "embedding.out": 2}),
    "a row": (types_by_position, ONE),
    "positions": (lambda model, ids: model.table(model.steps[:, : ids.shape[1]]), ONE),
    "counted": (lambda model, ids: model.table(torch.arange(ids.shape[1])[None] + 0), ONE),
    "repeated": (lambda model, ids: model.table(model.steps[:, : ids.shape[1]].expand(ids.shape[0], -1)), ONE),
    "of an input": (lambda model, ids: model.table(ids + 1), {"embedding.out": 2, "add.Scalar_out": 1}),
}
"""Name -> what is added, and the kernels, for static sizes and for open ones."""


@pytest.mark.parametrize("is_open", [False, True], ids=["static", "open"])
@pytest.mark.parametrize("name", CASES)
def test_lookups(name: str, is_open: bool) -> None:
    added, kernels = CASES[name]
    model = embeddings(added)
    dims = ({0: Dim("batch", max=4), 1: Dim("length", min=2, max=9)},) if is_open else None
    program = to_edge(torch.export.export(model, (IDS,), dynamic_shapes=dims))
    lowered = program.to_backend(XnnpackPartitioner()).to_executorch()
    calls = [op.kernel.data for op in lowered.module.walk() if isinstance(op, KernelCallOp)]
    counts = Counter(call.removeprefix("aten::") for call in calls if "sym_size" not in call)
    assert counts == kernels
    assert sum(isinstance(op, DelegateCallOp) for op in lowered.module.walk()) == 1
    shapes = ((3, 5), (1, 9), (4, 2)) if is_open else ((3, 5),)
    agree(lowered.buffer, model, ([torch.randint(0, 10, shape)] for shape in shapes))
