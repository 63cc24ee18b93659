"""Whether a program of calls computes what the functions mean that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xir.evaluate.comparison import FLIPPED, FUSED, REPEATED, is_quantized, largest_difference
from xir.evaluate.execution import plans_of, run_program
from xir.evaluate.kernels import NodeByNode, node_by_node, overwriting
from xir.evaluate.miscompiles import MiscompileError, changed_program, does_not_run, wrong_kernel
from xir.evaluate.trace import updates_of
from xir.ir.context import XirContext
from xir.ir.functions import methods_of
from xir.ir.passes import XirPass


@dataclass(frozen=True)
class ProgramCheck:
    """The last functions, which the kernels compute, and what each of them is run on."""

    module: ModuleOp
    inputs: Mapping[str, Sequence[Any]]
    given: Mapping[str, Sequence[Any]]
    """The inputs as a caller of the file gives them."""

    def run(
        self, ctx: XirContext, each: XirPass, module: ModuleOp, ran: Mapping[str, list[Any]], rtol: float
    ) -> tuple[dict[str, list[Any]], float]:
        """Emit the program, run it, and compare with what its ops mean, or with `ran`, that of the program before.

        What it computes, and the largest difference. MiscompileError if that is more than `rtol` and order explain.
        """
        for plan in plans_of(module):
            if (instruction := overwriting(plan)) is not None:
                message = f"{each.name} lays a tensor over another one that is still needed"
                raise MiscompileError(each, instruction, message, (), 1.0)
        functions = {function.sym_name.data: function for function in methods_of(self.module)}
        written = {
            name: [op.declared.buffer.data for op in updates_of(function)] for name, function in functions.items()
        }
        try:
            computed = run_program(module, ctx, {name: self.given[name] for name in written}, written)
        except Exception as error:
            raise does_not_run(each, module, error) from error
        nodes = None if ran else self._node_by_node(ctx, each, module)
        if nodes is not None and nodes.wrong is not None:
            raise wrong_kernel(each, nodes.wrong)
        before = ran if nodes is None else nodes.outputs
        largest = 0.0 if nodes is None else nodes.error
        for name, outputs in before.items():
            found = largest_difference(outputs, computed[name])
            if found is not None and found.error > (FLIPPED if found.counted else max(rtol, REPEATED)):
                mean = largest_difference(outputs, computed[name], mean=True)
                if ran or not is_quantized(self.module) or mean is None or mean.error > FUSED:
                    raise changed_program(each, module, functions[name], found)
            largest = max(largest, 0.0 if found is None else found.error)
        return computed, largest

    def _node_by_node(self, ctx: XirContext, each: XirPass, module: ModuleOp) -> NodeByNode:
        """Each op of the functions, compared with what it computes in the program."""
        try:
            return node_by_node(self.module, ctx, each, (self.inputs, self.given))
        except Exception as error:
            raise does_not_run(each, module, error) from error
