"""The named pipelines, as data: each is a flag of `xir-opt` and a name that another pipeline may use."""

PIPELINES: dict[str, str] = {
    "cleanup": "canonicalize,cse,drop-dead-resources",
    "simplify": "canonicalize,fold-constants,raise-int-mm,cse,fold-batch-norm",
    "delegate": "simplify,check-quantization,unmerge-dynamic-dims,partition-xnnpack,fold-qdq,propagate-converts,"
    "split-fully-connected,bubble-up-slice,fuse-conv-relu,propagate-layout,fold-affine,fold-width-stride,"
    "widen-depthwise,cleanup,check-xnnpack",
    "emit": "simplify,check-quantization,decompose-for-kernels,fold-constants,cleanup,isolate-tables,lower-to-pte,"
    "plan-memory",
}
"""Name -> textual pipeline."""


def register_pipeline(name: str, text: str) -> None:
    """Add a pipeline from outside. ValueError if there is one, or a pass, of that name."""
    from xir.transforms.registry import PASSES

    if name in PIPELINES or name in PASSES:
        raise ValueError(f"there is a pass or pipeline '{name}' already")
    PIPELINES[name] = text
