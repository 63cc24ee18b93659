"""Convolutions on integers whose pixels were merged compute what torch does, whatever their geometry."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from torch import Tensor
from torch.nn.functional import conv2d, pad
from xdsl.dialects.builtin import ModuleOp

from xir.dialects import xnnpack
from xir.emitter import emit
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.runtime import Runtime
from xir.transforms.registry import passes_of


@dataclass(frozen=True)
class Geometry:
    """One dimension of a convolution."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int

    @property
    def output(self) -> int:
        return (self.size + self.before + self.after - self.kernel) // self.stride + 1


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    kernel = draw(st.integers(1, 7))
    padding = st.integers(0, kernel - 1)
    found = Geometry(draw(st.integers(1, 24)), kernel, draw(st.integers(1, 4)), draw(padding), draw(padding))
    assume(found.size + found.before + found.after >= kernel)
    return found


def weights_of(rows: Geometry, columns: Geometry, channels: int) -> Tensor:
    """[1, kH, kW, C]; every tap has another weight."""
    shape = (1, rows.kernel, columns.kernel, channels)
    return torch.arange(rows.kernel * columns.kernel * channels).reshape(shape) * 7 % 253 - 126


def convolution(rows: Geometry, columns: Geometry, channels: int, ctx: XirContext) -> ModuleOp:
    """A convolution of integers; the scales of input, weights and output are 1/2, 1/4 and 64."""
    weights = weights_of(rows, columns, channels)
    image = f"1x{rows.size}x{columns.size}x{channels}x"
    kernel = f"1x{rows.kernel}x{columns.kernel}x{channels}x"
    result = f"1x{rows.output}x{columns.output}x1x"
    activation, weight, out = (f"!quant.uniform<i8:f32, {p}>" for p in ("0.5:3", "0.25", "64.0:-2"))
    text = f"""
    func.func @forward(%x: tensor<{image}i8>) -> tensor<{result}i8>
        attributes {{xir.in_spec = "T2#1#0(T1#1($),D0())", xir.out_spec = "$"}} {{
      %y = xnnpack.subgraph(%x) : (tensor<{image}i8>) -> tensor<{result}i8> {{
      ^bb0(%a: tensor<{image}{activation}>):
        %w = xnnpack.constant dense<{weights.tolist()}> : tensor<{kernel}i8> -> tensor<{kernel}{weight}>
        %1 = xnnpack.conv2d %a, %w {{
          padding = array<i32: {rows.before}, {columns.after}, {rows.after}, {columns.before}>,
          stride = array<i32: {rows.stride}, {columns.stride}>
        }} : (tensor<{image}{activation}>, tensor<{kernel}{weight}>) -> tensor<{result}{out}>
        xnnpack.yield %1 : tensor<{result}{out}>
      }}
      func.return %y : tensor<{result}i8>
    }}"""
    return parse_module(ctx, text)


def convolved(image: Tensor, weights: Tensor, rows: Geometry, columns: Geometry) -> Tensor:
    """What torch makes of the integers; all numbers on the way are exact in fp64."""
    padding = (columns.before, columns.after, rows.before, rows.after)
    real = pad((image.double() - 3).permute(0, 3, 1, 2), padding)
    sums = conv2d(real, weights.double().permute(0, 3, 1, 2), stride=(rows.stride, columns.stride))
    return (sums.permute(0, 2, 3, 1) * (0.5 * 0.25 / 64.0)).round().sub(2).clamp(-128, 127).to(torch.int8)


@settings(max_examples=examples(40), **DETERMINISTIC)
@given(rows=geometries(), columns=geometries(), channels=st.integers(1, 9))
def test_merged_pixels_compute_the_same(rows: Geometry, columns: Geometry, channels: int) -> None:
    ctx = XirContext()
    module = convolution(rows, columns, channels, ctx)
    # In groups of 1000 channels, whatever makes the kernel narrower is worth it.
    PassManager(ctx, passes_of("fold-width-stride{channel-group=1000}")).run(module)
    merged = any(isinstance(op, xnnpack.StaticReshapeOp) for op in module.walk())
    if columns.stride == 1 or columns.kernel == 1 or columns.size % columns.stride:
        assert not merged
    elif columns.kernel > columns.stride and columns.before == 0 and columns.after == 0:
        assert merged

    PassManager(ctx, passes_of("emit")).run(module)
    file = BytesIO()
    emit(module, ctx, file)
    method = Runtime.get().load_program(file.getvalue()).load_method("forward")
    shape = (1, rows.size, columns.size, channels)
    image = torch.randint(-128, 128, shape, dtype=torch.int8, generator=torch.Generator().manual_seed(3))
    (got,) = method.execute([image])
    assert torch.equal(torch.as_tensor(got), convolved(image, weights_of(rows, columns, channels), rows, columns))
