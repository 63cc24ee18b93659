"""The layers of a method: what its delegates compute, by the places in the model that their nodes come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.interfaces import moves_data
from xir.dialects.xnnpack.quantization import DynamicType
from xir.ir.annotations import COMPOSED
from xir.ir.location import SourceOrigin, origins_of
from xir.lock.kinds import Key
from xir.transforms.analysis.cost import multiply_adds
from xir.transforms.xnnpack.analysis.tables import tables

NO_MODULE = "-"
"""Stands for the module of what comes from the model's own, or from nowhere that is known."""

_BITS = re.compile(r"(?:qd|u?q|bf|f)(\d+)")


@dataclass(frozen=True)
class OperatorLayer:
    """What computes one operator of the model."""

    type: str
    """What it computes on, and the type of its filter where that differs: `f32`, `q8 x q8 per channel`."""
    form: str
    """Its nodes, or as what several nodes compute it: `conv2d`, `as F(4x4)`."""
    multiply_adds: int

    def __str__(self) -> str:
        products = f", {self.multiply_adds} multiply-adds" if self.multiply_adds else ""
        return f"{self.type}, {self.form}{products}"

    @staticmethod
    def parse(text: str) -> OperatorLayer:
        """The layer of a text. ValueError if it is none."""
        found = re.fullmatch(r"([^,]+), ([^,]+)(?:, (\d{1,18}) multiply-adds)?", text)
        if found is None:
            raise ValueError("a layer is 'TYPE, FORM, NUMBER multiply-adds', or without the last")
        return OperatorLayer(found[1], found[2], int(found[3] or 0))

    @property
    def bits(self) -> tuple[int, ...]:
        """Of what it computes on, and of its filter; nothing of types that are neither float nor quantised."""
        found = [int(each) for each in _BITS.findall(self.type)]
        return tuple(found * 2 if len(found) == 1 else found)

    @property
    def is_quantized(self) -> bool:
        """Whether it computes on integers that stand for real numbers."""
        return self.type.startswith(("q", "uq"))

    @property
    def is_composed(self) -> bool:
        """Whether it was given a form of several nodes for being faster. Bands of rows are for taking less memory."""
        return self.form.startswith("as ") and not self.form.endswith(" bands")


def layers_of(method: str, graphs: Sequence[xnnpack.SubgraphOp]) -> Mapping[Key, tuple[OperatorLayer, Operation]]:
    """The layers of a method in program order, each with one of its nodes."""
    groups: dict[object, list[xnnpack.NodeOp]] = {}
    in_tables: set[Operation] = set()
    for graph in graphs:
        in_tables.update(node for chain in tables(graph.body.block) for node in chain)
        for node in graph.body.block.ops:
            if isinstance(node, xnnpack.NodeOp) and _computes(node):
                groups.setdefault(_origin(node) or node, []).append(node)
    found: dict[Key, tuple[OperatorLayer, Operation]] = {}
    seen: Counter[Key] = Counter()
    for nodes in groups.values():
        key = ("layer", method, *_names(nodes[0]))
        seen[key] += 1
        numbered = key if seen[key] == 1 else (*key, str(seen[key]))
        main = next((node for node in nodes if isinstance(node, xnnpack.WeightedOp)), nodes[0])
        found[numbered] = OperatorLayer(_type(main, in_tables), _form(nodes), total_multiply_adds(nodes)), main
    return found


def total_multiply_adds(nodes: Iterable[Operation]) -> int:
    """Those of all nodes together."""
    return sum(multiply_adds(node) or 0 for node in nodes)


def _computes(node: xnnpack.NodeOp) -> bool:
    return COMPOSED in node.attributes or not (moves_data(node) or isinstance(node, xnnpack.ConvertOp))


def _origin(node: Operation) -> SourceOrigin | None:
    """The first place that a node comes from: of an operator that has taken others in, its own."""
    return next(iter(origins_of(node.location)), None)


def _names(node: xnnpack.NodeOp) -> tuple[str, str]:
    """The module and the operator of a layer; the node's own name where the file does not tell."""
    origin = _origin(node)
    if origin is None or not (origin.op or origin.name):
        return NO_MODULE, node.name
    return origin.module or NO_MODULE, origin.op or origin.name


def _form(nodes: Sequence[xnnpack.NodeOp]) -> str:
    for node in nodes:
        if isinstance(form := node.attributes.get(COMPOSED), StringAttr):
            return f"as {form.data.partition(' as ')[2] or form.data}".replace(",", ";")
    counts = Counter(_node_name(node) for node in nodes)
    return " + ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())


def _node_name(node: xnnpack.NodeOp) -> str:
    kind = node.member_key
    name = node.name.removeprefix("xnnpack.")
    return f"{name} {kind}" if isinstance(kind, str) else name


def _type(node: xnnpack.NodeOp, in_tables: set[Operation]) -> str:
    if node in in_tables:
        return "q8 table"
    if not isinstance(node, xnnpack.WeightedOp):
        return element_text(element_type(node.results[0]))
    activation, filter = (element_text(element_type(value)) for value in (node.input, node.filter))
    return activation if activation == filter else f"{activation} x {filter}"


def element_text(element: Attribute) -> str:
    """An element type in a few letters: `f32`, `i64`, `q8`, `uq8`, `qd8`, `q4 per 32`."""
    if isinstance(element, DynamicType):
        return f"qd{element.storage.bitwidth}"
    if not isinstance(element, UniformType):
        return str(element)
    name = f"{'q' if element.is_signed else 'uq'}{element.storage.bitwidth}"
    if element.is_blockwise:
        sizes = [int(size) for size in element.block_sizes.get_values()]
        return f"{name} per {max(sizes)}"
    return name if element.is_per_tensor else f"{name} per channel"


def is_float(layer: OperatorLayer) -> bool:
    """Whether a layer computes on floating-point numbers."""
    return layer.type.startswith(("f", "bf"))
