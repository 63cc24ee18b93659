"""Constant bytes on their way into a file: known by size and digest, read in pieces when their turn comes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr

from xir.emitter.codec import Buffer
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import Locatable

SPLAT_CHUNK = 1 << 20
"""Bytes that a splat is written out in at a time."""


@dataclass(frozen=True)
class Data:
    """`size` bytes that `chunks()` yields in order, and their sha256."""

    size: int
    digest: bytes
    chunks: Callable[[], Iterable[Buffer]]

    @staticmethod
    def of(content: bytes) -> Data:
        """Bytes that are in memory anyway."""
        return Data(len(content), hashlib.sha256(content).digest(), lambda: (content,))


def constant_data(
    attr: DenseIntOrFPElementsAttr | DenseResourceAttr, size: int, ctx: XirContext, where: Locatable
) -> Data:
    """The bytes of a constant that must take `size` bytes. DiagnosticError at `where` if they are not there.

    A resource is not copied: its chunks are views of what the context's blob store holds.
    """
    if isinstance(attr, DenseIntOrFPElementsAttr):
        data = _dense_data(attr)
    else:
        key = attr.resource_handle.data
        if key not in ctx.blobs:
            raise DiagnosticError(
                where, f'resource "{key}" has no data here: print the module with --print-resources to keep the weights'
            )
        data = Data(ctx.blobs.nbytes(key), ctx.blobs.digest(key), lambda: ctx.blobs.chunks(key))
    if data.size != size:
        raise DiagnosticError(where, f"the constant has {data.size} bytes, its type needs {size}")
    return data


def _dense_data(attr: DenseIntOrFPElementsAttr) -> Data:
    """The bytes of a `dense` attribute, a splat's written out piece by piece."""
    stored = attr.data.data
    size = math.prod(attr.get_shape()) * attr.type.element_type.compile_time_size
    if len(attr) != 1 or size <= len(stored):
        return Data.of(stored)
    chunk = stored * min(size // len(stored), max(SPLAT_CHUNK // len(stored), 1))

    def chunks() -> Iterable[Buffer]:
        for begin in range(0, size, len(chunk)):
            yield chunk[: size - begin]

    digest = hashlib.sha256()
    for piece in chunks():
        digest.update(piece)
    return Data(size, digest.digest(), chunks)
