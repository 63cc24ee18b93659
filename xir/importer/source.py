"""Where in the user's Python an fx node comes from, and its name."""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type and schema begin with an underscore.

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import torch
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import SSAValue

from xir.ir.location import call_location, file_location, name_location

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TORCH = re.compile(r"[/\\](?:site|dist)-packages[/\\]torch[/\\]")
_TORCH_HERE = str(Path(torch.__file__).parent) + "/"


def _inside_torch(filename: str) -> bool:
    return filename.startswith(_TORCH_HERE) or _TORCH.search(filename) is not None


@lru_cache(maxsize=4096)
def _source_line(stack_trace: str) -> LocationAttr:
    """The innermost frame outside torch; the innermost of all where there is no other.

    Code that torch generates, `<eval_with_key>.5` as inside `torch.cond`, is in no file and does not count.
    """
    frames = [frame for frame in _FRAME.findall(stack_trace) if not frame[0].startswith("<")]
    if not frames:
        return UNKNOWN_LOC
    filename, line = next((f for f in reversed(frames) if not _inside_torch(f[0])), frames[-1])
    return file_location(filename, int(line))


def _operator_name(target: object) -> str:
    """`aten::add.Tensor`; "" for what is no operator."""
    if not isinstance(target, torch._ops.OpOverload):
        return ""
    return target._schema.name + (f".{target._schema.overload_name}" if target._schema.overload_name else "")


def _module_path(node: torch.fx.Node) -> str:
    """The innermost module instance that called the node's operator, "" for the outermost module itself."""
    stack: Mapping[str, tuple[str, object]] = node.meta.get("nn_module_stack") or {}
    return list(stack.values())[-1][0] if stack else ""


def node_location(node: torch.fx.Node) -> LocationAttr:
    """The fx node's name around its operator, its source line and its module."""
    line = _source_line(node.meta.get("stack_trace") or "")
    return name_location(node.name, call_location(line, _operator_name(node.target), _module_path(node)))


def name_hint(name: str) -> str | None:
    """The fx name as SSA name hint, if xDSL takes it."""
    return name if SSAValue.is_valid_name(name) else None
