"""Models that were exported in their training form, which few mean to compile."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticEngine

REMEDY = "call model.eval() before it is exported, unless that is wanted"


def warn_of_training(program: ExportedProgram, diagnostics: DiagnosticEngine) -> None:
    """Warn of batch norms that count batches, or else of dropout that draws numbers, at the first such op."""
    nodes = {node.name: node for node in program.graph.nodes}
    inputs = program.graph_signature.input_specs
    # In inference nothing reads the number of batches, by which training weighs the running statistics.
    batches = [nodes[spec.arg.name] for spec in inputs if (spec.target or "").endswith("num_batches_tracked")]
    counts = [user for node in batches for user in node.users]
    if counts:
        what = "batch norms take their statistics from each batch, and update them"
        diagnostics.warning(node_location(counts[0]), f"the model is in its training form: {what}; {REMEDY}")
    elif (dropout := next(filter(_drops, nodes.values()), None)) is not None:
        what = "dropout draws random numbers"
        diagnostics.warning(node_location(dropout), f"the model is in its training form: {what}; {REMEDY}")


def _drops(node: Node) -> bool:
    match node.target:
        case torch.ops.aten.native_dropout.default:
            return True
        case torch.ops.aten.dropout.default:
            return len(node.args) > 2 and node.args[2] is True
        case _:
            return False
