"""What counts as a difference between two runs of a function."""

import math

import torch

from xir.evaluate.comparison import differences


def test_none_is_equal_to_none_alone() -> None:
    number = torch.ones(2)
    assert differences([None, number], [None, number]) == []
    for before, after in ((None, number), (number, None)):
        (found,) = differences([number, before], [number, after])
        assert found.output == 1
        assert math.isinf(found.error)
