"""How far roundings move what functions compute: a pass that rounds otherwise may move it as far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xir.evaluate.comparison import AMPLIFIED, SAMPLES, differences, rounding_of
from xir.evaluate.evaluator import Evaluator, Noise
from xir.evaluate.quantized import QUANTIZES
from xir.evaluate.trace import called
from xir.ir.context import XirContext
from xir.ir.functions import functions_of
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass

Moved = dict[int, float]
"""How far outputs are moved, by their numbers, relative to their magnitudes."""


class Roundings:
    """Those of a module at first. Its weights are kept, which passes drop from the context once nothing reads them."""

    def __init__(
        self,
        module: ModuleOp,
        ctx: XirContext,
        inputs: Mapping[str, Sequence[Any]],
        exact: Mapping[str, Sequence[Any]],
    ):
        """`inputs` are those of each function, and `exact` is what it computes of them."""
        self._module, self._ctx = module.clone(), ctx.clone()
        self._functions = {function.sym_name.data: function for function in functions_of(self._module)}
        self._inputs, self._exact = inputs, exact
        self._noise: dict[str, Moved] = {}
        """How far roundings move what each function computes, where that was asked."""

    def moved_by(self, each: XirPass, ctx: XirContext, function: FuncOp, outputs: Sequence[Any]) -> Moved:
        """How far a pass may move each output by numbers that it rounds: further than roundings at random do."""
        if each.numerics is Numerics.SAME:
            return {}
        name = function.sym_name.data
        if name not in self._noise:
            noise = Noise(relative=rounding_of(self._module))
            self._noise[name] = self._furthest(self._ctx, self._functions[name], self._exact[name], noise)
        found = dict(self._noise[name])
        if each.numerics is Numerics.REQUANTIZED:
            for output, error in self._furthest(ctx, function, outputs, Noise(quantizes=True)).items():
                found[output] = found.get(output, 0.0) + error
        return {output: AMPLIFIED * error for output, error in found.items()}

    def are_alike(self, ctx: XirContext, function: FuncOp, allowed: float, more: Moved) -> bool:
        """Whether a quantised program computes what it did at first where all roundings are made.

        One that rounds by ops of its own does so, also where the others are left out."""
        if not any(op.name in QUANTIZES for op in self._module.walk()):
            return False
        name = function.sym_name.data
        before = called(self._functions[name], Evaluator(self._ctx), self._inputs[name])
        after = called(function, Evaluator(ctx), self._inputs[name])
        return all(found.error <= allowed + more.get(found.output, 0.0) for found in differences(before, after))

    def _furthest(self, ctx: XirContext, function: FuncOp, exact: Sequence[Any], noise: Noise) -> Moved:
        """How far each output of a function is moved by noise, at most."""
        evaluator = Evaluator(ctx, rounds=False, noise=noise)
        moved: Moved = defaultdict(float)
        for sample in range(SAMPLES):
            noise.generator.manual_seed(sample)
            for found in differences(exact, called(function, evaluator, self._inputs[function.sym_name.data])):
                if isfinite(found.error):
                    moved[found.output] = max(moved[found.output], found.error)
        return moved
