"""The named pipelines, as data: each is a flag of `xir-opt` and a name that another pipeline may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xir.ir.passes import XirPass

PIPELINES: dict[str, str] = {
    "cleanup": "canonicalize,cse,drop-dead-resources",
    "simplify": "canonicalize{delegates=false},densify-experts,fuse-quantized-embedding,fold-constants,raise-items,"
    "raise-int-mm,"
    "cse{delegates=false},fold-batch-norm,put-slices",
    "delegate": "simplify,check-quantization,fold-positions,fold-lookups,crop-padding,raise-grouped-query,"
    "attend-live-prefix,fuse-prefix-attention,lower-masks,unmerge-dynamic-dims,collapse-dims,partition-xnnpack,fold-qdq,propagate-converts,split-fully-connected,"
    "bubble-up-slice,fuse-conv-relu,propagate-layout,fold-affine,skip-masked-keys,fold-width-stride,widen-depthwise,band-spatial,canonicalize,cse,pad-channels,winograd-conv2d,drop-dead-resources,check-xnnpack",
    "emit": "simplify,check-quantization,decompose-for-kernels,fold-constants,canonicalize{delegates=false},"
    "cse{delegates=false},drop-dead-resources,isolate-tables,lower-to-pte,plan-memory",
}
"""Name -> textual pipeline."""


def passes_of(text: str) -> list[XirPass]:
    """The passes of a textual pipeline, such as `simplify,fold-constants`. PipelineError for what is none."""
    from xir.ir.pipeline import parse_pipeline
    from xir.transforms.registry import PASSES

    return parse_pipeline(text, PASSES, PIPELINES)


def register_pipeline(name: str, text: str) -> None:
    """Add a pipeline from outside. ValueError if there is one, or a pass, of that name."""
    from xir.transforms.registry import PASSES

    if name in PIPELINES or name in PASSES:
        raise ValueError(f"there is a pass or pipeline '{name}' already")
    PIPELINES[name] = text
