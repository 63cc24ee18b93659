"""Files of remarks: LLVM's YAML, which `opt-viewer`, `llvm-remarkutil` and `llvm-opt-report` read, and JSON.

The YAML form is that of LLVM's `docs/Remarks.rst`, a document for each remark:

    --- !Missed
    Pass:            fuse-conv-relu
    Name:            clamp
    DebugLoc:        { File: model.py, Line: 12, Column: 0 }
    Function:        forward
    Args:
      - Remark:          xnnpack.clamp is a node of its own
      - Reason:          what it clamps has other users
    ...
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from xir.ir.location import find_file_location
from xir.ir.remarks import UNKNOWN_FUNCTION, Figure, Remark

JSON_VERSION = 1
"""Of the JSON form: raised when a key changes its meaning or goes away, not when one is added."""

_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z_/][\w./<>()+ -]*(?<! )", re.IGNORECASE | re.ASCII)
"""Scalars that need no quotes in YAML, in any of its versions."""


def final_remarks(remarks: Iterable[Remark]) -> list[Remark]:
    """Of those with one name by one pass about one place only the last, as `mlir-opt --remark-policy=final` keeps."""
    last = {(each.category, each.name, each.function, each.location): each for each in remarks}
    return list(last.values())


def yaml_of(remarks: Iterable[Remark]) -> str:
    """The remarks as LLVM's YAML."""
    return "".join(map(_document, remarks))


def _document(remark: Remark) -> str:
    lines = [f"--- !{remark.kind.value}", _entry("Pass", remark.category), _entry("Name", remark.name)]
    if (place := find_file_location(remark.location)) is not None:
        file = _scalar(place.filename.data)
        lines.append(f"DebugLoc:        {{ File: {file}, Line: {place.line.data}, Column: {place.column.data} }}")
    lines.append(_entry("Function", remark.function or UNKNOWN_FUNCTION))
    lines.append("Args:")
    lines += [f"  - {_entry(key, value)}" for key, value in remark.arguments]
    return "\n".join([*lines, "...\n"])


def _entry(key: str, value: Figure) -> str:
    return f"{f'{key}:':16} {_scalar(value)}"


def _scalar(value: Figure) -> str:
    """A value as LLVM writes it: numbers are strings."""
    text = str(value)
    if _PLAIN.fullmatch(text):
        return text
    if all(char.isprintable() for char in text):
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text)  # JSON's escapes are YAML's


def json_of(remarks: Iterable[Remark]) -> str:
    """The remarks as one JSON object; docs/remarks.md says what its keys mean."""
    document = {"version": JSON_VERSION, "remarks": [_object(remark) for remark in remarks]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _object(remark: Remark) -> dict[str, Any]:
    place = find_file_location(remark.location)
    return {
        "kind": remark.kind.name.lower(),
        "pass": remark.category,
        "name": remark.name,
        "function": remark.function or None,
        "file": None if place is None else place.filename.data,
        "line": None if place is None else place.line.data,
        "column": None if place is None else place.column.data,
        "remark": remark.text,
        "reason": remark.reason or None,
        "hint": remark.hint,
        "figures": dict(remark.figures),
    }
