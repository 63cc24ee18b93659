"""What `lower-to-pte` passes to a kernel, against the kernels' own schemas in torch."""

from __future__ import annotations

import pytest
import torch

from xir.dialects import edge
from xir.dialects.edge import EdgeOp
from xir.transforms.pte._kernel_calls import kernel_arguments

# ExecuTorch registers these itself, and the last is xir's; torch does not know them.
FOREIGN = ("executorch_prim::", "quantized_decomposed::", "xir::")

WITH_KERNEL = {
    name: op for name, op in edge.OPS.items() if op.row.out is not None and not op.row.out.startswith(FOREIGN)
}


@pytest.mark.parametrize("op", WITH_KERNEL.values(), ids=WITH_KERNEL.keys())
def test_arguments_of_the_out_variant(op: type[EdgeOp]):
    assert op.row.out is not None
    namespace, _, qualified = op.row.out.partition("::")
    name, _, overload = qualified.partition(".")
    kernel = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    arguments = kernel._schema.arguments
    assert kernel_arguments(op.row.schema, op.row.out) == [a.name for a in arguments if not a.is_out]
    # As many out tensors as results; a number is only returned.
    assert len([a for a in arguments if a.is_out]) == len([r for r in op.row.schema.returns if r.type.is_tensor])
