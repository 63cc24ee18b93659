"""The table of ATen ops for docs/reference/operators.md: what each becomes, on which types, when not, and in stock.

Nothing in it is written by hand but what stock ExecuTorch does. Nodes and types are what the rules really build for the
cases of `test/python/transforms/test_legalizations.py`, which every rule has, each tried on every element type and for
both targets. Conditions are the texts of the refusals that a rule's code can reach.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.transforms.analysis.sizes import OpenSizeError, OpenSizes
from xir.transforms.xnnpack import legalizations
from xir.transforms.xnnpack.legalizations.rule import QUANTIZED, RULES, NodeBuilder, Quantized, RefusalError

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "test/python"), str(ROOT / "test/python/transforms")]
cases = importlib.import_module("test_legalizations")
reference = importlib.import_module("reference.edge")
call = reference.call

TYPES = ("f32", "f16", "bf16", "i32")
TARGETS = ("executorch", "xir")
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
        if name.startswith("edge.quantized_decomposed."):
            yield (
                f"`{short}`",
                "`convert`, folded into its neighbours",
                "",
                "",
                "",
                "; ".join(refusals(RULES[name])),
                stock,
            )
            continue
        plain, own = built["executorch"].get(name, {}), built["xir"].get(name, {})
        nodes, own_nodes = nodes_text(plain, "kernel"), nodes_text(own, "")
        types = ", ".join(f"`{each}`" for each in TYPES if each in plain or each in own)
        conditions = "; ".join(refusals(RULES[name]))
        own_text = own_nodes if own_nodes != nodes else ""
        yield f"`{short}`", nodes, own_text, types, INT8[QUANTIZED.get(name)], conditions, stock


def nodes_text(found: dict[str, set[str]], nothing: str) -> str:
    """The nodes that an op becomes in the first type of the table's order that it is computed in."""
    if not found:
        return nothing
    nodes = next(found[each] for each in (*TYPES, *found) if each in found)
    return ", ".join(f"`{each}`" for each in sorted(nodes)) or "nothing"


def samples_built(target: str) -> dict[str, dict[str, set[str]]]:
    """Op -> element type -> the nodes that its rule builds for the cases in which it refuses nothing."""
    found: dict[str, dict[str, set[str]]] = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for name, args, only in (*cases.CASES, *cases.XIR_CASES, *cases.INTEGER_CASES):
            sample = call(name, {key: cases.cast(value, dtype) for key, value in args.items()}, only)
            nodes = built_by_rule(sample, target)
            if nodes is not None:
                found.setdefault(name, {}).setdefault(str(element_type(sample.op.results[0])), set()).update(nodes)
    for name, args, only in cases.MIXED_CASES:
        sample = call(name, args, only)
        if not any(found[name].values()) and (nodes := built_by_rule(sample, target)):
            found[name] = dict.fromkeys(TYPES, nodes)
    return found


def built_by_rule(sample: Any, target: str) -> set[str] | None:
    """The nodes that the rule of a `reference.edge.Call` builds; None if it refuses, or they do not verify."""
    op = sample.op
    assert isinstance(op.parent, Block)
    builder = NodeBuilder(sample.ctx, target, op, OpenSizes(op.parent))
    try:
        RULES[op.name](op, builder)
        for node in builder.ops:
            node.verify()
    except (RefusalError, VerifyException, OpenSizeError):
        return None
    return {label(node) for node in builder.ops if isinstance(node, xnnpack.NodeOp)}


def label(node: xnnpack.NodeOp) -> str:
    """A node's name, with its kind where it has one."""
    name = node.name.removeprefix("xnnpack.")
    kind = node.properties.get("kind")
    return f"{name} {kind.data}" if isinstance(kind, KINDED) else name


class Functions:
    """The functions of the rules' modules and of the analyses that they ask; equal names in two modules are two."""

    def __init__(self) -> None:
        rules = Path(inspect.getfile(legalizations)).parent
        self.defined: dict[tuple[str, str], ast.FunctionDef] = {}
        self.imported: dict[tuple[str, str], tuple[str, str]] = {}
        for path in (*rules.glob("*.py"), *(rules.parents[1] / "analysis").glob("*.py")):
            module = ".".join(("xir", *path.relative_to(rules.parents[2]).with_suffix("").parts))
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef):
                    self.defined[module, node.name] = node
                elif isinstance(node, ast.ImportFrom) and node.module:
                    self.imported |= {(module, alias.name): (node.module, alias.name) for alias in node.names}

    def find(self, module: str, name: str) -> tuple[str, str] | None:
        """The function that a name in a module stands for."""
        place = self.imported.get((module, name), (module, name))
        return place if place in self.defined else None


FUNCTIONS = Functions()


def refusals(rule: object) -> list[str]:
    """The texts of the refusals in a rule and in the functions that it calls, "…" for what depends on the op."""
    first = FUNCTIONS.find(getattr(rule, "__module__", ""), getattr(rule, "__name__", ""))
    pending, seen, texts = [first] if first else [], {first}, dict[str, None]()
    while pending:
        place = pending.pop()
        for node in ast.walk(FUNCTIONS.defined[place]):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id == "RefusalError" and (text := reason(node.args[0])):
                texts[text] = None
            elif (called := FUNCTIONS.find(place[0], node.func.id)) is not None and called not in seen:
                seen.add(called)
                pending.append(called)
    return list(texts)


def reason(argument: ast.expr) -> str:
    """The text of a refusal's reason; "" if it has none of its own."""
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    texts = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts]
    return "" if set(texts) == {"…"} else "".join(texts)
