"""What XNNPACK does not compute: it stays outside with its reason, and is computed all the same."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from ops.surface import assert_refused, r
from torch import nn

IMAGE = r(2, 4, 9, 10)


@pytest.mark.parametrize(
    ("reason", "model", "inputs"),
    [
        ("its weight is not a constant", F.conv2d, (IMAGE, r(3, 4, 3, 3))),
        ("its indices are used", lambda x: torch.max(x, dim=2, keepdim=True), (IMAGE,)),
        ("its indices are used", nn.MaxPool2d(3, return_indices=True), (IMAGE,)),
        ("no rule lowers it to XNNPACK", nn.AdaptiveMaxPool2d(3, return_indices=True), (IMAGE,)),
        (
            "no rule lowers edge.ne.Scalar, which it consists of, to XNNPACK",
            lambda x: torch.linalg.vector_norm(x, 0, 1),
            (IMAGE,),
        ),
        ("no rule lowers it to XNNPACK", lambda x: torch.argmax(x, 1), (IMAGE,)),
        ("no rule lowers it to XNNPACK", torch.atan, (IMAGE,)),
        ("its divisor 3 is not a power of 2", lambda x: x % 3, (IMAGE,)),
        (
            "its condition is computed at run time, and XNNPACK has no booleans",
            lambda x: torch.where(x > 0, x, 2 * x),
            (IMAGE,),
        ),
        ("XNNPACK takes tensors of rank 6 at most", torch.exp, (r(1, 2, 1, 2, 1, 2, 1),)),
        ("XNNPACK does not compute it on f64", torch.exp, (IMAGE.double(),)),
    ],
)
def test_refused(reason: str, model: Any, inputs: tuple[torch.Tensor, ...]) -> None:
    assert_refused(model, inputs, reason)
