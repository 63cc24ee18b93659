"""The table of ATen ops for docs/reference/operators.md: what each becomes, on which types, when not, and in stock.

Nothing in it is written by hand but what stock ExecuTorch does. Nodes and types are what the rules really build for
their samples, each tried on every element type and for both targets. Conditions are the refusals that rules declare.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.edge.families import Dequantize, Quantize, names_of
from xir.dialects.xnnpack.base import element_type
from xir.ir.context import XirContext
from xir.ir.symbolic_size import UndecidedSizeError
from xir.ir.targets import TARGETS, Target
from xir.transforms.analysis.calls import Call
from xir.transforms.analysis.refusal import Refusal, RefusalError
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge.decompositions import expanded
from xir.transforms.xnnpack.building.trial import check_results
from xir.transforms.xnnpack.legalizations import RULES, NodeBuilder, Quantized, lower
from xir.transforms.xnnpack.legalizations.donors import Donors
from xir.transforms.xnnpack.legalizations.expansion import expansion
from xir.transforms.xnnpack.legalizations.samples import samples_of

TYPES = (f32, f16, bf16, i32)
QUANTIZATION = names_of(Quantize | Dequantize)
KINDED = (xnnpack.UnaryKindAttr, xnnpack.BinaryKindAttr, xnnpack.ReduceKindAttr)

INT8 = {
    None: "fp32",
    Quantized.WEIGHTED: "int8",
    Quantized.OPERANDS: "int8",
    Quantized.MATRICES: "int8",
    Quantized.TABLE: "look-up",
    Quantized.MOVES: "moves int8",
}
"""How an op takes part in static quantisation -> what it computes on."""

STOCK = {
    "_native_batch_norm_legit_no_training": "behind a convolution or linear layer, or of rank 3 or 4",
    "_softmax": "over the last dimension",
    "_to_copy": "between fp32 and fp16",
    "abs": "",
    "add.Tensor": "alpha is 1",
    "addmm": "static weight",
    "avg_pool2d": "neither ceil_mode, counted padding nor divisor_override",
    "bmm": "",
    "cat": "two to five tensors",
    "ceil": "",
    "clamp": "",
    "clone": "the layout stays",
    "constant_pad_nd": "no negative padding",
    "convolution": "one or two dimensions, static weight",
    "cos": "",
    "div.Tensor": "",
    "exp": "",
    "floor": "",
    "gelu": "not in fp16; the tanh form is computed as the other one",
    "hardswish": "",
    "hardtanh": "",
    "leaky_relu": "",
    "linear": "static weight",
    "log": "",
    "max.dim": "rank 4, indices unused",
    "max_pool2d": "stride at most the kernel",
    "maximum": "",
    "mean.dim": "the last two dimensions of rank 4, keepdim",
    "minimum": "",
    "mm": "static weight",
    "mul.Tensor": "",
    "neg": "",
    "permute": "",
    "pow.Tensor_Scalar": "the power 2",
    "prelu": "static weight",
    "relu": "",
    "rsqrt": "",
    "sigmoid": "",
    "sin": "",
    "slice.Tensor": "static shape, step 1",
    "sqrt": "",
    "sub.Tensor": "alpha is 1",
    "tanh": "",
    "unsqueeze": "at the end",
    "upsample_bilinear2d.vec": "static size",
    "view": "one inferred dimension at most",
    "quantized_decomposed.quantize_per_tensor": "",
    "quantized_decomposed.dequantize_per_tensor": "",
}
"""What stock ExecuTorch 1.5 delegates, by the op's name here -> when; "" is always, in fp32.

Source: `ALL_PARTITIONER_CONFIGS` in its `backends/xnnpack/partition/config/__init__.py` and the constraints of the
classes that it lists. Ops that are not here run in its portable kernels.
"""


def rows() -> Iterator[tuple[str, ...]]:
    """(op, nodes, nodes for target xir, types, static int8, conditions, stock) of every op of the edge dialect."""
    built = {target: samples_built(target) for target in TARGETS}
    for name in edge.OPS:
        short = name.removeprefix("edge.")
        stock = "kernel" if STOCK.get(short) is None else f"delegated: {STOCK[short]}" if STOCK[short] else "delegated"
        if name not in RULES:
            yield f"`{short}`", "kernel", "", "", "", "", stock
            continue
        conditions = "; ".join(refusal.text for refusal in refusals_of(name))
        if name in QUANTIZATION:
            yield f"`{short}`", "`convert`, folded into its neighbours", "", "", "", conditions, stock
            continue
        plain, own = built["executorch"].get(name, {}), built["xir"].get(name, {})
        nodes, own_nodes = nodes_text(plain, "kernel"), nodes_text(own, "")
        types = ", ".join(f"`{each}`" for each in map(str, TYPES) if each in plain or each in own)
        own_text = own_nodes if own_nodes != nodes else ""
        yield f"`{short}`", nodes, own_text, types, INT8[RULES[name].quantized], conditions, stock


def refusals_of(name: str) -> tuple[Refusal, ...]:
    """The reasons for which an op's rule refuses a call: of a composite those of the ops that its samples mean."""
    if RULES[name].build is not expansion:
        return RULES[name].refuses
    parts = {part for sample in samples_of(name) for part in parts_of(sample.build(XirContext())[1])}
    return tuple(dict.fromkeys(refusal for part in sorted(parts & RULES.keys()) for refusal in refusals_of(part)))


def parts_of(op: edge.EdgeOp) -> set[str]:
    """The names of the ops that one means."""
    meant = expanded(op)
    return set() if meant is None else {part.name for part in meant.ops}


def nodes_text(found: dict[str, set[str]], nothing: str) -> str:
    """The nodes that an op becomes in the first type of the table's order that it is computed in."""
    if not found:
        return nothing
    nodes = next(found[each] for each in (*map(str, TYPES), *found) if each in found)
    return ", ".join(f"`{each}`" for each in sorted(nodes)) or "nothing"


def samples_built(target: Target) -> dict[str, dict[str, set[str]]]:
    """Op -> element type -> the nodes that its rule builds for the samples of which it refuses nothing."""
    found: dict[str, dict[str, set[str]]] = {}
    for name in RULES.keys() - QUANTIZATION:
        # Samples have integers where the op takes them; a call by the schema is tried on integers as well.
        types = TYPES[:3] if RULES[name].samples else TYPES
        for sample in samples_of(name):
            for element in types:
                if (built := built_by_rule(sample, element, target)) is not None:
                    found.setdefault(name, {}).setdefault(built[0], set()).update(built[1])
    return found


def built_by_rule(sample: Call, element: Attribute, target: Target) -> tuple[str, set[str]] | None:
    """The result's element type and the nodes that a rule builds for a call in some element type.

    None if the rule refuses it, the nodes do not verify, or ATen promotes an integer to another type.
    """
    ctx = XirContext()
    try:
        _, op = sample.build(ctx, element)
    except VerifyException:
        return None
    function = op.parent_op()
    assert op.parent is not None
    assert function is not None
    builder = NodeBuilder(ctx, target, op, Donors(op.parent, SymbolicSizes(function)))
    try:
        check_results(op, lower(op, builder))
        for node in builder.ops:
            node.verify()
    except (RefusalError, VerifyException, UndecidedSizeError):
        return None
    result = element_type(op.results[0])
    if result != i32 and (element == i32 or isinstance(result, IntegerType)):
        return None
    return str(result), {label(node) for node in builder.ops if isinstance(node, xnnpack.NodeOp)}


def label(node: xnnpack.NodeOp) -> str:
    """A node's name, with its kind where it has one."""
    name = node.name.removeprefix("xnnpack.")
    kind = node.properties.get("kind")
    return f"{name} {kind.data}" if isinstance(kind, KINDED) else name
