"""A quantised embedding before 8da4w linear layers, one exported program lowered by stock ExecuTorch and by xir."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from interop.test_llm_kernels import with_quantized_embedding
from reference.runtimes import load_stock
from torch import Tensor, nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.utils import unwrap_tensor_subclass

import xir
from xir.runtime import Runtime

VOCABULARY, FEATURES = 100, 64


class Gated(nn.Module):
    """Logits of tokens from a gated layer between an embedding and an output layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCABULARY, FEATURES)
        self.gate, self.up = (nn.Linear(FEATURES, 96, bias=False) for _ in range(2))
        self.down = nn.Linear(96, FEATURES, bias=False)
        self.output = nn.Linear(FEATURES, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.embedding(tokens)
        gated = nn.functional.silu(self.gate(hidden)) * self.up(hidden)
        return self.output(hidden + self.down(gated))


@pytest.mark.parametrize(
    ("embedding", "kernel"),
    [
        # `test_quantized_weights.py` of language models runs this one in both runtimes.
        pytest.param("8,none", "embedding_byte", marks=pytest.mark.exhaustive),
        pytest.param("8,32", "embedding_byte", marks=pytest.mark.exhaustive),
        ("4,32", "embedding_4bit"),
    ],
)
def test_logits_are_those_of_stocks_lowering(embedding: str, kernel: str, tmp_path: Path) -> None:
    import_module("executorch.kernels.quantized")
    model = with_quantized_embedding(Gated().eval(), embedding)
    bits = torch.int4  # pyright: ignore[reportAttributeAccessIssue]
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=PerGroup(32))
    quantize_(model, config)
    unwrap_tensor_subclass(model)
    tokens = torch.randint(0, VOCABULARY, (1, 7))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what ExecuTorch calls in torch
        exported = torch.export.export(model, (tokens,), strict=True)
        expected = exported.module()(tokens)
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        stock = lowered.to_executorch(ExecutorchBackendConfig(do_quant_fusion_and_const_prop=True)).buffer
    ours = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
    file = tmp_path / "ours.pte"
    file.write_bytes(ours.buffer)
    (tmp_path / "stock.pte").write_bytes(stock)
    method = Runtime.get().load_program(file).load_method()
    assert method.metadata.num_delegates == 1
    assert [name for name in ours.kernel_names if "quantized" in name or "linear" in name] == [
        f"quantized_decomposed::{kernel}.dtype_out"
    ], ours.kernel_names
    reference = load_stock(tmp_path / "stock.pte").forward([tokens])[0]
    for found in (method.execute([tokens])[0], load_stock(file).forward([tokens])[0]):
        torch.testing.assert_close(found, reference, rtol=1e-4, atol=1e-5)
    # And stock's are those of the quantised graph.
    assert (reference - expected).norm() <= 1e-2 * expected.norm()
