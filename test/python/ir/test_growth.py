"""What holds work to its input's size: linear work passes, quadratic work does not."""

from __future__ import annotations

import pytest
from reference.cost import assert_linear


def test_linear_work_passes() -> None:
    assert_linear(lambda size: lambda: sum(range(100 * size)), 300, 2400)


def test_quadratic_work_is_caught() -> None:
    with pytest.raises(AssertionError):
        assert_linear(lambda size: lambda: [sum(range(size)) for _ in range(size)], 300, 2400)
