"""Write dialects/edge/ops.pyi, by which type checkers know the arguments of edge ops, from the tables of the dialect.

python scripts/generate_edge_ops.py           rewrite the file
python scripts/generate_edge_ops.py --check   exit 1 if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from generated_file import write_or_check
from xdsl.ir import Attribute

from xir.dialects import edge
from xir.dialects.edge.accessors import annotation_text
from xir.dialects.edge.properties import default_of
from xir.dialects.edge.schema import REQUIRED

FILE = Path(__file__).parent.parent / "dialects/edge/ops.pyi"

HEADER = '''\
"""The op class of each row of the tables, for type checkers. Written by scripts/generate_edge_ops.py."""

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from .accessors import Number, Size
from .base import EdgeOp

OPS: dict[str, type[EdgeOp]]
'''


def stub() -> str:
    """The text of the file."""
    return HEADER + "".join("\n" + "\n".join(class_lines(op)) + "\n" for op in edge.OPS.values())


def class_lines(op: type[edge.EdgeOp]) -> Iterator[str]:
    """One op class: an argument a line, with its type, and its default if it has one."""
    yield f"class {op.__name__}(EdgeOp):"
    yield f'    """{op.row.doc}"""'
    yield ""
    for argument in op.row.schema.arguments:
        yield f"    {argument.name}: {annotation_text(argument.type)}{default_text(argument)}"


def default_text(argument: edge.Argument) -> str:
    """` = 1` of an argument that has a default."""
    if argument.default is REQUIRED:
        return ""
    default = default_of(argument)
    if isinstance(default, Attribute):
        return " = ..."
    return f' = "{default}"' if isinstance(default, str) else f" = {default!r}"


if __name__ == "__main__":
    sys.exit(write_or_check(FILE, stub(), __doc__))
