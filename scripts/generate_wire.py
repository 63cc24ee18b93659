"""Write what follows from the op definitions of `dialects/xnnpack`: the flatbuffer schema and the C++ dispatch.

    python scripts/generate_wire.py           rewrite the files
    python scripts/generate_wire.py --check   exit 1 and name the files that are not up to date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xir.dialects.xnnpack import NODE_OPS, BinaryOp, NodeOp, UnaryOp
from xir.dialects.xnnpack.wire import RESERVED, FloatSlot, Slot, UIntsSlot, Wire

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "scripts/xnnpack.fbs.in"
SCHEMA = ROOT / "xir/schema/xnnpack.fbs"
DISPATCH = ROOT / "backend_cpp/src/xnnpack/node_dispatch.inc"


def field_type(slot: Slot) -> str:
    """The schema type of a slot."""
    if isinstance(slot, FloatSlot):
        return "float"
    return "[uint]" if isinstance(slot, UIntsSlot) else "uint"


def node_tables() -> str:
    """A table for each distinct wire form, in the order of the ops."""
    tables: dict[str, Wire] = {}
    for op in NODE_OPS:
        known = tables.setdefault(op.WIRE.table, op.WIRE)
        names = [(slot.name, field_type(slot)) for slot in op.WIRE.slots]
        if names != [(slot.name, field_type(slot)) for slot in known.slots]:
            raise SystemExit(f"{op.name}: its slots are not those of the other users of table {op.WIRE.table}")
    texts = [
        "\n".join([f"table {name} {{", *(f"  {s.name}:{field_type(s)};" for s in wire.slots), "}"])
        for name, wire in tables.items()
    ]
    texts += [f"// Never written, and refused by every reader.\ntable {name} {{\n}}" for name in RESERVED.values()]
    return "\n\n".join(texts)


def members() -> list[tuple[int, str, str, type[NodeOp], str | int | None]]:
    """(tag, member, table, op class, selecting key) of every union member that has an op, by tag."""
    rows = [
        (member.tag, member.name, op.WIRE.table, op, key) for op in NODE_OPS for key, member in op.WIRE.members.items()
    ]
    rows.sort(key=lambda row: row[0])
    tags = [row[0] for row in rows] + list(RESERVED)
    if len(set(tags)) != len(tags):
        raise SystemExit(f"a union tag is used twice: {sorted(t for t in set(tags) if tags.count(t) > 1)}")
    return rows


def node_union() -> str:
    """`union XNodeUnion`, every member with its tag."""
    alternatives = {tag: f"  {name}:{table} = {tag}" for tag, name, table, _, _ in members()}
    alternatives |= {tag: f"  {name}:{name} = {tag}" for tag, name in RESERVED.items()}
    return "union XNodeUnion {\n" + ",\n".join(alternatives[tag] for tag in sorted(alternatives)) + "\n}"


def schema() -> str:
    """The text of xnnpack.fbs."""
    return TEMPLATE.read_text().replace("@NODE_TABLES@", node_tables()).replace("@NODE_UNION@", node_union())


def outputs() -> dict[Path, str]:
    """Path -> text of every generated file."""
    return {SCHEMA: schema()}


def main() -> int:
    """Write or check the files; the exit status."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    check = arguments.parse_args().check
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is not up to date: run `make generate`", file=sys.stderr)
        else:
            path.write_text(outputs()[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
