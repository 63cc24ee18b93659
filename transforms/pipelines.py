"""The named pipelines, as data: each is a flag of `xir-opt` and a name that another pipeline may use.

`delegate` is made of phases, each a pipeline of its own with its reason, so that one can be run, printed or replaced
without the others. `passes_of` and `register_pipeline` are in `xir.transforms.registry`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pipeline:
    """Passes under one name."""

    text: str
    """The passes and pipelines that it stands for, as `--pass-pipeline` reads them."""
    reason: str = ""
    """Its purpose, or the reason for its order of passes, in a sentence."""


PIPELINES: dict[str, Pipeline] = {
    "cleanup": Pipeline("canonicalize,cse,drop-dead-resources", "Removes unused ops and resources."),
    "simplify": Pipeline(
        "canonicalize{delegates=false},densify-experts,fuse-quantized-embedding,fold-constants,raise-items,"
        "raise-int-mm,cse{delegates=false},fold-batch-norm,put-slices",
        "Expresses the program in fewer edge ops, for any backend.",
    ),
    "prepare": Pipeline(
        "check-quantization,fold-positions,fold-lookups,crop-padding,raise-grouped-query,attend-live-prefix,"
        "fuse-prefix-attention,fill-hidden-rows,lower-masks,unmerge-dynamic-dims,collapse-dims",
        "Rewrites edge ops into forms that XNNPACK's rules accept, since a rule sees one op at a time.",
    ),
    "select": Pipeline(
        "drop-softmax-guards,partition-xnnpack", "Decides which ops XNNPACK computes, and builds their nodes."
    ),
    "optimize": Pipeline(
        "fold-qdq,rearrange",
        "Makes fewer and cheaper nodes on any processor: conversions first, since they separate nodes that share a"
        " layout.",
    ),
    "rearrange": Pipeline(
        "propagate-converts,split-fully-connected,bubble-up-slice,fuse-conv-relu,propagate-layout,fold-affine,"
        "skip-masked-keys,fold-width-stride",
        "Of `optimize` what computes on integers only what was computed on integers before, so that none rounds anew.",
    ),
    "schedule": Pipeline(
        "widen-products{cpu=generic},reform",
        "Chooses among forms of a node by processors' profiles and by the memory limit; composed convolutions late,"
        " since no pass looks into them.",
    ),
    "reform": Pipeline(
        "widen-depthwise{cpu=generic},band-spatial,canonicalize,cse,pad-channels{cpu=generic},"
        "winograd-conv2d{cpu=generic},split-columns{cpu=generic}",
        "Of `schedule` what leaves products on integers, which round otherwise in fp32 where a sum is halfway between"
        " two integers.",
    ),
    "finish": Pipeline(
        "drop-dead-resources,avoid-xnnpack-faults,check-xnnpack",
        "Rewrites graphs that XNNPACK is known to compute wrong, last because other passes would undo that, and lets"
        " XNNPACK check the finished graphs.",
    ),
    "delegate": Pipeline(
        "simplify,prepare,select,optimize,schedule,finish", "Delegates to XNNPACK all ops that it can compute."
    ),
    "remake": Pipeline(
        "raise-from-pte,delegate,emit", "Compiles the program of a file once more, as far as it can be raised."
    ),
    "emit": Pipeline(
        "simplify,check-quantization,decompose-for-kernels,fold-constants,canonicalize{delegates=false},"
        "cse{delegates=false},drop-dead-resources,isolate-tables,separate-packed-constants,lower-to-pte,plan-memory",
        "Lowers the module to the program that a file holds: delegates, kernel calls and planned memory.",
    ),
}
"""Pipelines by name."""
