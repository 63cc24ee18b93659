"""Whether an imported program computes what PyTorch does: a row of the edge dialect, or the importer, may be wrong.

All else compares modules of the IR with each other, which share such a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from xir.evaluate.comparison import REPEATED, largest_difference
from xir.evaluate.inputs import as_stored
from xir.evaluate.kernels import Comparison
from xir.evaluate.miscompiles import told
from xir.evaluate.trace import updates_of
from xir.importer.importer import Imported, import_with_nodes
from xir.importer.signature import BUFFER_UPDATES
from xir.ir.context import XirContext
from xir.ir.diagnostics import WrongStageError, note, op_name
from xir.ir.functions import methods_of


class WrongImportError(WrongStageError):
    """An imported program computes something else than the program that PyTorch exported."""

    stage = "import"


def check_import(program: ExportedProgram) -> None:
    """Import a program, and compare it with PyTorch on the program's example inputs, if it has some.

    Each op is evaluated on what PyTorch has for its operands, and compared with what PyTorch has for its result, as far
    apart as a kernel outside of delegates may be (`bounds`). WrongImportError names the first op that computes
    something else, or the output that is another value.
    """
    if program.example_inputs is None:
        return
    leaves = pytree.tree_leaves(program.example_inputs)
    if not any(isinstance(each, torch.Tensor) for each in leaves):
        return
    ctx = XirContext()
    imported = import_with_nodes(program, ctx)
    function = methods_of(imported.module)[0]
    run = _Run(imported.program)
    expected = run.outputs()
    comparison = Comparison(ctx, dict(_pairs(imported, run.computed)))
    state: dict[str, Any] = {}
    actual = comparison.run(function, as_stored(function, leaves), state)
    if comparison.wrong:
        wrong = comparison.wrong[0]
        notes = [
            note(
                wrong.op, f"it is {wrong.found.after:.9g} in PyTorch, where its operands make {wrong.found.before:.9g}"
            )
        ]
        message = f"the import changes what the program computes: {told(wrong.found, wrong.name)}"
        raise WrongImportError(wrong.op, message, [*notes, note(wrong.op, f"row: {op_name(wrong.op)}")])
    for index, (want, got) in enumerate(zip(expected, actual, strict=True)):
        found = largest_difference([want], [got])
        if found is not None and found.error > REPEATED:
            end = function.body.block.last_op
            assert isinstance(end, ReturnOp)
            message = f"the import changes what the program computes: {told(found, f'output {index}')}"
            raise WrongImportError(
                end.operands[index].owner, message, [note(function, "each op computes what PyTorch does")]
            )
    for op in updates_of(function):
        name = op.declared.buffer.data
        found = largest_difference([run.buffers[name]], [state[name]])
        if found is not None and found.error > REPEATED:
            raise WrongImportError(
                op, f"the import changes what the program computes: {told(found, f'buffer {name!r}')}"
            )


def _pairs(imported: Imported, computed: Mapping[Node, Any]) -> Iterator[tuple[SSAValue, Any]]:
    """Each value of the module, and what PyTorch has for it."""
    for node, value in imported.values.items():
        found = computed.get(node)
        pairs: Sequence[tuple[Any, Any]] = [(value, found)]
        if isinstance(value, list) and isinstance(found, list | tuple):
            pairs = list(zip(value, found, strict=False))
        for each, tensor in pairs:
            if isinstance(each, SSAValue) and isinstance(tensor, torch.Tensor):
                yield each, tensor


class _Run(Interpreter):
    """Runs a program's graph, and keeps what its nodes compute."""

    def __init__(self, program: ExportedProgram):
        super().__init__(program.graph_module)
        self.program = program
        self.computed: dict[Node, Any] = {}
        self.buffers: dict[str, torch.Tensor] = {}
        """What buffers hold afterwards, by name."""

    def outputs(self) -> list[Any]:
        """What the program returns on its example inputs. Neither these nor its buffers change."""
        assert self.program.example_inputs is not None
        args, kwargs = self.program.example_inputs
        flat = self.program._graph_module_flat_inputs(args, kwargs)  # pyright: ignore[reportPrivateUsage]
        with torch.no_grad():
            own = pytree.tree_map_only(torch.Tensor, torch.clone, flat)
            results = self.run(*own)
        signature = self.program.graph_signature
        # What functional programs return for a buffer; others write to what they were given for it.
        given = {spec.target or "": value for spec, value in zip(signature.input_specs, own, strict=True)}
        found: list[Any] = []
        for spec, value in zip(signature.output_specs, results, strict=True):
            if spec.kind in BUFFER_UPDATES:
                given[spec.target or ""] = value
            else:
                found.append(value)
        self.buffers = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        return found

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.op == "call_function":
            self.computed[n] = pytree.tree_map_only(torch.Tensor, torch.clone, value)
        return value
