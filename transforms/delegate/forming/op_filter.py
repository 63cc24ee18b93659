"""Which ops the options of `mark-delegates` and `partition-xnnpack` let through."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Literal

from xdsl.dialects.builtin import ModuleOp, TensorType

from xir.dialects import edge
from xir.ir.diagnostics import DiagnosticError
from xir.ir.walking import ops_in
from xir.transforms.analysis.refusal import Refusal

FloatName = Literal["f32", "f16", "bf16"]
FLOATS: tuple[FloatName, ...] = ("f32", "f16", "bf16")

NOT_NAMED = Refusal("the option ops does not name it")
EXCLUDED = Refusal("the option exclude names it")
TYPE_LEFT_OUT = Refusal("the option dtypes leaves out {type}")


@dataclass(frozen=True)
class OpSelection:
    """The options `ops`, `exclude` and `dtypes`, each name resolved."""

    ops: frozenset[str]
    exclude: frozenset[str]
    left_out: frozenset[str]
    """The floating-point types that `dtypes` does not name."""

    @staticmethod
    def of(ops: Collection[str], exclude: Collection[str], dtypes: Collection[FloatName]) -> OpSelection:
        """The options as passes have them. ValueError for the name of an op that does not exist."""
        return OpSelection(op_names(ops), op_names(exclude), frozenset(FLOATS) - set(dtypes))

    def check_names(self, module: ModuleOp) -> None:
        """DiagnosticError for torch's name of an operator that has no row and that the module does not call."""
        known = torch_names(len(edge.OPS))
        unknown = {name for name in self.ops | self.exclude if "::" in name} - known
        if not unknown:
            return
        called = {name for op in ops_in(module, edge.EdgeOp) for name in names_of(op)}
        for name in sorted(unknown - called):
            close = difflib.get_close_matches(name, sorted(called | known), n=1)
            hint = f", did you mean {close[0]!r}?" if close else ""
            raise DiagnosticError(module, f"there is no op '{name}' in the program{hint}")

    def check(self, op: edge.EdgeOp) -> None:
        """RefusalError if an option excludes the op."""
        if self.ops and self.ops.isdisjoint(names_of(op)):
            raise NOT_NAMED()
        if not self.exclude.isdisjoint(names_of(op)):
            raise EXCLUDED()
        if not self.left_out:
            return
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and (name := str(value.type.element_type)) in self.left_out:
                raise TYPE_LEFT_OUT(type=name)


def op_names(given: Collection[str]) -> frozenset[str]:
    """The edge ops that names stand for; ValueError for a name that stands for none.

    A name is an op's own, with or without `edge.`; without its overload it stands for all overloads of the operator,
    and with the overload `default` for the one that has no name. An operator without a row has torch's name, as
    `aten::erfinv`, which only a program can tell from a mistake: `OpSelection.check_names`.
    """
    found: set[str] = set()
    for name in given:
        if "::" in name:
            found.add(name)
            continue
        full = name if name.startswith("edge.") else f"edge.{name}"
        known = known_names(len(edge.OPS))
        named = known.get(full)
        if named is None:
            close = difflib.get_close_matches(full, known, n=1)
            raise ValueError(f"there is no op '{name}'{f', did you mean {close[0]!r}?' if close else ''}")
        found |= named
    return frozenset(found)


def names_of(op: edge.EdgeOp) -> tuple[str, ...]:
    """The names in a `OpSelection` that mean an op: its own, and torch's with and without the overload."""
    return op.name, *_torch_names(op.schema)


def _torch_names(schema: edge.Schema) -> tuple[str, str]:
    return schema.qualified_name, f"{schema.namespace}::{schema.name}"


@cache
def torch_names(count: int) -> frozenset[str]:
    """Torch's names of the operators that the `count` edge ops with a row call, with and without the overload."""
    return frozenset(name for op_class in edge.OPS.values() for name in _torch_names(op_class.row.schema))


@cache
def known_names(count: int) -> dict[str, set[str]]:
    """Every name there is for the `count` edge ops, and the ops that it stands for."""
    names: dict[str, set[str]] = {}
    for op, op_class in edge.OPS.items():
        schema = op_class.row.schema
        for name in {op, f"edge.{schema.name}", f"edge.{schema.name}.{schema.overload or 'default'}"}:
            names.setdefault(name, set()).add(op)
    return names
