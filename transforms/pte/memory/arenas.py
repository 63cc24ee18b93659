"""What the arenas of a plan are."""

from __future__ import annotations

ALIGNMENT = 16
"""Of every tensor in an arena, in bytes."""

OVER_READ = 64
"""Bytes behind an arena that a delegate may read (XNN_EXTRA_BYTES of XNNPACK's `include/xnnpack.h`, rounded up)."""

ARENA = 1
"""The id of the arena of what a call computes. 0 stands for the constants."""

BUFFERS = 2
"""The id of the arena of mutable buffers, where ExecuTorch's `share_mutable_buffers` has them: a host that gives the
methods of a program one arena of this id lets them share."""


def aligned(nbytes: int) -> int:
    """The bytes of an arena that a tensor of `nbytes` takes."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
