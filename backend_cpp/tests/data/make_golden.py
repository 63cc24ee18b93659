"""Write the golden programs beside this file with stock ExecuTorch 1.5.1, and what torch computes for them.

    python backend_cpp/tests/data/make_golden.py

Each `<name>.pte` comes with `<name>.input_<i>.npy` and `<name>.output_<i>.npy`; only `xir_debug_info.pte`, which xir
itself writes for the debug information in it, comes alone. They are kept as they are: a later runtime must still read
them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from torch import nn
from torch.nn import functional
from torchao import quantization as torchao
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.utils import unwrap_tensor_subclass

import xir

HERE = Path(__file__).parent


class Small(nn.Module):
    """A little of every matrix node, two delegates with a portable mean between them."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, 1, 1, groups=8)
        self.pointwise = nn.Conv2d(8, 16, 1)
        self.linear = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.conv(x)))
        x = x + functional.hardtanh(self.depthwise(x), 0, 6)
        x = self.pointwise(x).mean((2, 3))
        return torch.softmax(self.linear(x), -1)


class Quantized(Small):
    """As Small, with a pooling that is delegated as well."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.conv(x)))
        x = x + self.depthwise(x)
        x = functional.adaptive_avg_pool2d(self.pointwise(x), 1).flatten(1)
        return self.linear(x)


class Counter(nn.Module):
    """How often it was called, counted from 5."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.full((3,), 5.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


class Many(nn.Module):
    """Most of the nodes that ExecuTorch's partitioner knows."""

    def __init__(self):
        super().__init__()
        self.transposed = nn.ConvTranspose2d(4, 6, 3, 2, 1, 1)
        self.prelu = nn.PReLU(6)
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.prelu(self.transposed(x))
        x = functional.avg_pool2d(functional.max_pool2d(x, 2, 2), 2, 2)
        x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        x = functional.pad(torch.cat([x, x + 1, x * 2], 1), (1, 1, 1, 1))[:, 2:10, 1:9, 1:9]
        x = x.permute(0, 2, 3, 1).reshape(8, 8, 8)
        x = self.linear(torch.bmm(x, x))
        x = torch.sigmoid(x) * torch.tanh(x) - torch.exp(-torch.abs(x))
        x = functional.leaky_relu(x) + functional.gelu(x) + functional.hardswish(x)
        x = torch.maximum(x, -x) / (torch.minimum(x, -x).square() + 1.0)
        x = torch.sqrt(x + 1) + torch.rsqrt(x + 1) + torch.log(x + 1) + torch.sin(x) + torch.cos(x)
        return torch.clamp(x, -0.5, 4.5), torch.softmax(torch.ceil(x) + torch.floor(x), -1)


class Dynamic(nn.Module):
    """A batch of any size up to ten."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(self.linear(x)), x + 1


class Portable(nn.Module):
    """Nothing for XNNPACK."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.weight = nn.Parameter(torch.randn(8, 4))

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        x = self.embedding(index)
        x = torch.addmm(x[0, :, :4], x[1], self.weight)
        x = torch.cat([x, x * x], 1).permute(1, 0).unsqueeze(0)
        return torch.softmax(torch.clamp(x.expand(2, 8, 3) - x.mean(-1, keepdim=True), -1.0, 1.0), 1)


def write(
    name: str,
    program: Any,
    reference: Any,
    inputs: tuple[torch.Tensor, ...],
    *,
    delegate: bool = True,
    config: ExecutorchBackendConfig | None = None,
) -> None:
    """Lower an exported program, and store the bytes, the inputs and what `reference` makes of them."""
    partitioner = [XnnpackPartitioner()] if delegate else None
    lowered = to_edge_transform_and_lower(program, partitioner=partitioner).to_executorch(config)
    (HERE / f"{name}.pte").write_bytes(lowered.buffer)
    for data in lowered._tensor_data.values():
        (HERE / f"{name}.ptd").write_bytes(bytes(data))
    with torch.no_grad():
        outputs = reference(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for i, tensor in enumerate(tensors):
            np.save(HERE / f"{name}.{kind}_{i}.npy", tensor.contiguous().numpy())


def write_model(name: str, model: nn.Module, inputs: tuple[torch.Tensor, ...], *, delegate: bool = True, **export: Any):
    """Export and write a model."""
    model = model.eval()
    write(name, torch.export.export(model, inputs, **export), model, inputs, delegate=delegate)


class Traced(nn.Module):
    """A delegate and a kernel."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(torch.relu(self.conv(x)), dim=1)


def write_xir(name: str, model: nn.Module, inputs: tuple[torch.Tensor, ...]):
    """Compile a model with xir, debug information and all, and store the bytes alone."""
    edge = xir.to_edge(torch.export.export(model.eval(), inputs)).to_backend(xir.XnnpackPartitioner())
    (HERE / f"{name}.pte").write_bytes(edge.to_executorch().buffer)


def write_quantized(name: str, model: nn.Module, inputs: tuple[torch.Tensor, ...], *, dynamic: bool):
    """Quantise a model by channel, and write it."""
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
    )
    prepared = prepare_pt2e(torch.export.export(model.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    write(name, torch.export.export(converted, inputs), converted, inputs)


def write_int4(name: str, model: nn.Module, inputs: tuple[torch.Tensor, ...]):
    """Quantise linear modules to 4 bits, a scale for each 32 inputs, with inputs to 8 at run time, and write them."""
    config = torchao.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=torchao.PerGroup(32)
    )
    torchao.quantize_(model.eval(), config)
    unwrap_tensor_subclass(model)
    write_model(name, model, inputs)


def write_external(name: str, model: nn.Module, inputs: tuple[torch.Tensor, ...], *, delegate: bool):
    """Write a model whose weights are in a .ptd file."""
    program = torch.export.export(model.eval(), inputs)
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name.startswith("p_"):
            # What ExecuTorch's delegate_external_constants_pass_unlifted sets.
            node.meta["custom"] = {"delegate_constant_tag": "weights"}
    config = None if delegate else ExecutorchBackendConfig(external_constants=lambda _: "weights")
    write(name, program, model, inputs, delegate=delegate, config=config)


def write_state(name: str, model: nn.Module, inputs: tuple[torch.Tensor, ...]):
    """Write a model with its buffers' names and initial values."""
    config = ExecutorchBackendConfig(
        emit_mutable_buffer_names=True,
        passes=[InitializedMutableBufferPass([name for name, _ in model.named_buffers()])],
    )
    write(name, torch.export.export(model, inputs), model, inputs, delegate=False, config=config)


def main() -> None:
    """Write all of them."""
    torch.manual_seed(0)
    image = (torch.randn(1, 3, 16, 16),)
    write_model("stock_small", Small(), image)
    write_model("stock_many", Many(), (torch.randn(1, 4, 8, 8),))
    write_model(
        "stock_dynamic", Dynamic(), (torch.randn(5, 8),), dynamic_shapes=({0: torch.export.Dim("b", min=1, max=10)},)
    )
    write_model("stock_portable", Portable(), (torch.tensor([[1, 2, 3], [4, 5, 19]]),), delegate=False)
    mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    for delegate in (True, False):
        kind = "delegate" if delegate else "portable"
        write_external(f"stock_external_{kind}", mlp, (torch.randn(3, 8),), delegate=delegate)
    write_quantized("stock_q8", Quantized(), image, dynamic=False)
    rows = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    write_quantized("stock_qd8", rows, (torch.randn(3, 16),), dynamic=True)
    write_int4("stock_qb4", nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8)), (torch.randn(3, 64),))
    write_state("stock_state", Counter(), (torch.ones(3),))
    write_xir("xir_debug_info", Traced(), (torch.randn(1, 3, 6, 6),))


if __name__ == "__main__":
    main()
