"""How many examples the tests try: few and always the same in `make test`, many and always others in `make fuzz`."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck

FACTOR = int(os.environ.get("XIR_FUZZ", "0"))

DETERMINISTIC: dict[str, Any] = {
    "derandomize": FACTOR == 0,
    "database": None,
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
}


def examples(count: int, campaign: int = 0) -> int:
    """`count`, or in `make fuzz` so many times as much; of `campaign`, if it is given."""
    return FACTOR * (campaign or count) if FACTOR else count
