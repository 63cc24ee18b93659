"""Files of one method, from its text."""

from __future__ import annotations

import io

from xir.emitter import emit
from xir.ir.context import XirContext
from xir.ir.parser import parse_module


def file_of(body: str, *, inputs: str = "", outputs: str = "%out", arena: int = 4096) -> bytes:
    """The bytes of a file whose method is this text."""
    text = (
        f"pte.program {{\n pte.execution_plan @forward arenas [0, {arena}] {{\n{body}\n"
        f" pte.signature inputs ({inputs}) outputs ({outputs})\n }}\n}}"
    )
    ctx, stream = XirContext(), io.BytesIO()
    emit(parse_module(ctx, text), ctx, stream)
    return stream.getvalue()
