"""The public names for plugins; docs/extending.md shows how to use them.

A plugin imports from here and from the dialects (`xir.dialects.*`), and nothing else of xir. docs/versioning.md says
how these names may change.
"""

from xir.backend.interface import Backend, Blob, ReadBlob, Request, Taken, Trial
from xir.backend.plugins import register_backend
from xir.dialects.delegate import GraphOp, InfersShapes
from xir.dialects.edge import EdgeOp, register_op
from xir.dialects.registry import register_dialect
from xir.emitter.debug_info import DebugInfoWriter
from xir.emitter.errors import FormatError
from xir.ir.constants import constant_array, make_dense, parse_dense
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit, origins_of
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.shapes import broadcast
from xir.ir.targets import Target
from xir.ir.tensor_types import element_type, shape_of
from xir.runtime.plugin_libraries import register_library
from xir.transforms.analysis.calls import call, constant, numbers, tensor
from xir.transforms.analysis.refusal import Refusal, RefusalError
from xir.transforms.delegate.forming.late_refusals import LateRefusalError, RefusingPass, run_passes
from xir.transforms.delegate.forming.legalize import legalize_regions
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, replacing_decomposition
from xir.transforms.registry import passes_of, register_pass, register_pipeline
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, Quantized, rule
from xir.transforms.xnnpack.legalizations.samples import samples_of

__all__ = [
    "Backend",
    "Blob",
    "DebugInfoWriter",
    "DiagnosticError",
    "EdgeBuilder",
    "EdgeOp",
    "FormatError",
    "GraphOp",
    "InfersShapes",
    "LateRefusalError",
    "NodeBuilder",
    "Quantized",
    "ReadBlob",
    "Refusal",
    "RefusalError",
    "RefusingPass",
    "Request",
    "Taken",
    "Target",
    "Trial",
    "XirContext",
    "XirPass",
    "broadcast",
    "call",
    "constant",
    "constant_array",
    "decomposition",
    "element_type",
    "inherit",
    "legalize_regions",
    "make_dense",
    "numbers",
    "op_rewrite_pattern",
    "origins_of",
    "parse_dense",
    "passes_of",
    "register_backend",
    "register_dialect",
    "register_library",
    "register_op",
    "register_pass",
    "register_pipeline",
    "replacing_decomposition",
    "rewrite_patterns",
    "rule",
    "run_passes",
    "samples_of",
    "shape_of",
    "tensor",
]
