"""The order that an input's dimensions have in memory."""

from typing import Any

import torch

CHANNELS_LAST = (0, 2, 3, 1)
"""The dimensions of an image from the outermost in memory to the innermost."""


def in_memory(value: Any) -> tuple[Any, tuple[int, ...] | None]:
    """An input with its dimensions as they lie in memory, and which ones they are; None for torch's own order.

    ExecuTorch's programs take inputs in the order of the sample that the program was exported with. Its runtime takes
    images in channels-last memory and else torch's own order only; a sample that lies otherwise counts as in order.
    """
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.ndim != len(CHANNELS_LAST):
        return value, None
    if value.is_contiguous() or not value.is_contiguous(memory_format=torch.channels_last):
        return value, None
    return value.permute(CHANNELS_LAST), CHANNELS_LAST
