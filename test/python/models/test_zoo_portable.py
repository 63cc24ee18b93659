"""Models of the zoo without a delegate: kernels alone, in both runtimes, with eager's numbers."""

from __future__ import annotations

import pytest
import torch
from reference.runtimes import agree

from xir.api import to_edge
from xir.dialects.edge.kernels import executorch_kernels
from xir.models import MODELS, load_model
from xir.runtime import portable_kernels

TOLERANCE = 1e-4
"""Of the output's largest magnitude."""

CROPPED = {
    "mv2": 64,
    "mv3": 64,
    "mv3_large": 64,
    "resnet18": 64,
    "resnet50": 64,
    "efficientnet_b0": 64,
    "dl3": 64,
    "edsr": 16,
    "ic3": 96,
    "ic4": 96,
}
"""Models that take images of any size, and the smaller one that is enough to see that every kernel is right."""

QUICK = {"add", "linear", "mv3", "llama2", "emformer_join"}
"""One of each kind; the others are for `make test-zoo`. `test_dynamic_portable.py` runs an LSTM."""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.exhaustive) for n in MODELS])
def test_kernels_with_eagers_numbers(name: str) -> None:
    model, inputs = load_model(name)
    if name in CROPPED:
        size = CROPPED[name]
        inputs = tuple(image[..., :size, :size].contiguous() for image in inputs)
    program = to_edge(torch.export.export(model, inputs)).to_executorch()
    assert executorch_kernels().issuperset(program.kernel_names)
    assert portable_kernels().issuperset(program.kernel_names), "the native runner has no other kernels"
    agree(program.buffer, model, [inputs], rtol=0, atol=0, of_largest=TOLERANCE)
