"""Each pass keeps to what it claims of the numbers (`XirPass.numerics`), on the inputs of its lit tests.

These have each of its rewrites, and so are evaluated before and after it; and where the pass makes more of the numbers
than its claim lets it, the check says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.evaluate import MiscompileError, NumericsChecker
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.numerics import Numerics
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager, XirPass
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES, passes_of

LIT = Path(__file__).parents[2] / "lit" / "transforms"

LARGEST = 1 << 20
"""Elements of the largest tensor that is evaluated; some tests are about sizes."""

CONTRADICTORY = "nearest_beside_factors"
"""A size that its factors do not lead to: ATen takes the factors, and PyTorch makes none."""


@dataclass(frozen=True)
class Case:
    """A module of a lit test, and a pipeline that the test runs."""

    file: str
    text: str
    pipeline: str


def pipelines(text: str) -> set[str]:
    """The passes that a test's RUN lines name."""
    found: set[str] = set()
    for line in re.findall(r"// RUN: (?:not )?xir-opt (.*)", text):
        if (spelled := re.search(r"--pass-pipeline=['\"]?builtin\.module\((.*?)\)['\"]? ", line)) is not None:
            found.add(spelled[1])
            continue
        flags = re.findall(r"--([a-z][a-z0-9-]*)(?:=(\S+))?", line)
        known = [(name, options) for name, options in flags if name in PASSES or name in PIPELINES]
        found.add(",".join(f"{name}{{{options}}}" if options else name for name, options in known))
    return found - {""}


def cases() -> Iterator[Case]:
    for path in sorted(LIT.rglob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        usable = sorted(each for each in pipelines(text) if is_usable(each))
        for piece in re.split(r"^// -----", text, flags=re.MULTILINE):
            if "expected-error" in piece:
                continue
            yield from (Case(str(path.relative_to(LIT)), piece, each) for each in usable)


def is_usable(pipeline: str) -> bool:
    """Whether the passes need no options that the name does not say."""
    try:
        return bool(passes_of(pipeline))
    except DiagnosticError:
        return False


def parsed(case: Case) -> tuple[ModuleOp, XirContext] | None:
    """The module of a case; None if it is refused, or too large to be evaluated."""
    ctx = XirContext()
    try:
        module = parse_module(ctx, case.text, case.file)
    except Exception:  # of xDSL's parser, or a diagnostic: the test is about it
        return None
    blocks = [block for op in module.walk() for region in op.regions for block in region.blocks]
    values = [value for op in module.walk() for value in op.results] + [arg for block in blocks for arg in block.args]
    sizes = [math.prod(map(abs, value.type.get_shape())) for value in values if isinstance(value.type, TensorType)]
    for function in [op for op in module.body.ops if isinstance(op, FuncOp)]:
        if function.sym_name.data == CONTRADICTORY:
            function.detach()
    return None if max(sizes, default=0) > LARGEST else (module, ctx)


def checked(case: Case, passes: list[XirPass]) -> list[tuple[str, float]]:
    """The passes that changed the module, as far as it could be evaluated."""
    found = parsed(case)
    if found is None:
        return []
    module, ctx = found
    checker = NumericsChecker()
    manager = PassManager(ctx, passes)
    checker.attach(manager)
    try:
        manager.run(module)
    except MiscompileError:
        raise
    except DiagnosticError:
        # A pass that refuses the program, as its test has it.
        pass
    return checker.errors


NOT_CHANGING = set(
    "check-bit-exact check-delegates check-quantization check-xnnpack crop-padding cse drop-dead-resources"
    " fold-positions fuse-prefix-attention unmerge-dynamic-dims".split()
)
"""These change nothing here: they only look, or their tests give sizes without a bound, or no numbers."""


BEYOND = {Numerics.SAME: 1e-8, Numerics.ROUNDED: 1e-2, Numerics.REQUANTIZED: 0.2}
"""By what part a number is moved that a pass must not move so far; outputs of fp16 may by some hundredths."""


def moving(each: XirPass, by: float) -> XirPass:
    """The pass, and behind it a product of its function's floating-point results, with the pass's claim."""

    class Moving(type(each)):
        def apply(self, ctx: XirContext, op: ModuleOp) -> None:
            super().apply(ctx, op)
            for function in [each for each in op.body.ops if isinstance(each, FuncOp) and not each.is_declaration]:
                last = function.body.block.last_op
                assert isinstance(last, ReturnOp)
                last.operands = [multiplied(value, last, 1 + by) for value in last.operands]

    return Moving(**{field.name: getattr(each, field.name) for field in fields(each)})  # pyright: ignore


def multiplied(value: SSAValue, user: ReturnOp, factor: float) -> SSAValue:
    """The product of a value in fp32 with a number; others stay."""
    if not isinstance(value.type, TensorType) or value.type.element_type != f32:
        return value
    product = edge.op("mul.Scalar").build_from({"self": value, "other": factor})
    assert user.parent is not None
    user.parent.insert_op_before(product, user)
    return product.results[0]


def returns_numbers(case: Case) -> bool:
    """Whether a module returns numbers in fp32, from one function."""
    found = parsed(case)
    functions = [op for op in found[0].body.ops if isinstance(op, FuncOp)] if found is not None else []
    types = [type for function in functions for type in function.function_type.outputs.data]
    return bool(types) and all(isinstance(type, TensorType) and type.element_type == f32 for type in types)


WITHOUT_NUMBERS = {"attend-live-prefix"}
"""What these leave of drawn inputs are no numbers."""


def test_passes_keep_to_their_claims_and_one_that_does_more_is_found() -> None:
    changed, tried, found = set[str](), set[str](), set[str]()
    for case in cases():
        passes = passes_of(case.pipeline)
        errors, last = dict(checked(case, passes)), passes[-1]
        changed |= errors.keys()
        if last.name in errors.keys() - found and last.numerics in BEYOND and returns_numbers(case):
            tried.add(last.name)
            try:
                checked(case, [*passes[:-1], moving(last, BEYOND[last.numerics])])
            except MiscompileError as error:
                found.add({"moving": last.name}[error.culprit.name])
    assert PASSES.keys() - changed - {"plan-memory", "raise-from-pte"} == NOT_CHANGING
    assert "lower-to-pte" in changed
    assert tried - found <= WITHOUT_NUMBERS
    assert len(found) > 15, found
