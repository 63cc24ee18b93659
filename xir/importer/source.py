"""Where in the user's Python an fx node comes from."""

import re
from functools import lru_cache
from pathlib import Path

import torch
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from xir.ir.location import file_location, name_location

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]")
_TORCH_HERE = str(Path(torch.__file__).parent) + "/"


def _inside_torch(filename: str) -> bool:
    return filename.startswith(_TORCH_HERE) or _TORCH.search(filename) is not None


@lru_cache(maxsize=4096)
def _source_line(stack_trace: str) -> LocationAttr:
    """The innermost frame outside torch; the innermost of all where there is no other."""
    frames = _FRAME.findall(stack_trace)
    if not frames:
        return UNKNOWN_LOC
    filename, line = next((f for f in reversed(frames) if not _inside_torch(f[0])), frames[-1])
    return file_location(filename, int(line))


def node_location(node: torch.fx.Node) -> LocationAttr:
    """The fx node's name around its source line."""
    return name_location(node.name, _source_line(node.meta.get("stack_trace") or ""))
