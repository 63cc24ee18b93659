"""Each test draws the same numbers, whichever ran before it."""

import pytest
from ops.surface import GENERATOR


@pytest.fixture(autouse=True)
def seed() -> None:
    GENERATOR.manual_seed(0)
