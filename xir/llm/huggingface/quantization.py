"""Weights of language models in 8 and 4 bits, layer by layer, in the graph's form that XNNPACK's lowering knows.

Activations are quantised as they come, each token's by its own range. Weights of 4 bits can be rounded for texts.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

import xir.quantizer  # pyright: ignore[reportUnusedImport]  # noqa: F401  # registers torch.ops.quantized_decomposed
from xir.importer.packed_weights import dequantize_int4
from xir.ir import nibbles
from xir.llm.errors import LlmError
from xir.llm.huggingface.calibration import round_linear_layers
from xir.llm.huggingface.sensitivity import divergences, layers_to_keep
from xir.quantizer.compensation import Rounded
from xir.quantizer.observers import BLOCK, group_scales

_quantized = torch.ops.quantized_decomposed

Mode = Literal["none", "int8", "int4"]


def quantize(
    model: nn.Module,
    mode: Mode,
    group_size: int,
    embedding: Mode | None = None,
    dtype: torch.dtype = torch.float32,
    texts: Sequence[Sequence[int]] = (),
    max_bytes: int | None = None,
) -> list[str]:
    """Replace linear layers and embeddings of a model by quantised ones.

    `int8`: linear layers in int8 from −127 to 127, a scale for each output channel; embeddings have a scale for each
    row. `int4`: in 4 bits, a scale for each `group_size` inputs of a channel, or elements of a row. `embedding` is for
    embeddings alone; if None, they are int8 where linear layers are quantised. An output layer that has an embedding's
    weights shares them in int8.
    Weights may be of any float type. Parameters that are not replaced get `dtype`, and with them activations; other
    buffers become fp32, as transformers computes them: it converts frequencies of positions where it uses them.
    With `texts`, tokens, as many in each, 4-bit weights of linear layers are rounded for what the layers compute of
    them (`xir.quantizer.compensation`), in fp32; without, to the nearest.
    With `max_bytes` as well, the linear layers that 4 bits hurt most (`sensitivity`) get 8, as long as all weights of
    the model, as files have them, take at most so many bytes.
    Returns the paths of those layers. LlmError for a layer whose inputs are no multiple of the group size, and if 4
    bits take more than `max_bytes`.
    """
    if max_bytes is not None and (mode != "int4" or not texts):
        raise LlmError("max-bytes chooses between 4 and 8 bits: it goes with quantize int4 and a calibration text")
    embedding = embedding or ("none" if mode == "none" else "int8")
    layers = [
        (parent, name, f"{path}.{name}".lstrip("."), child)
        for path, parent in model.named_modules()
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear | nn.Embedding)
    ]
    shared: dict[Tensor, Int8Weight] = {}
    for parent, name, path, child in layers:
        if not isinstance(child, nn.Embedding) or embedding == "none":
            continue
        weight = _quantized_weight(child.weight, path, embedding, group_size)
        if isinstance(weight, Int8Weight):
            shared[child.weight] = weight
        setattr(parent, name, QuantizedEmbedding(child, weight, dtype))
    linear = {path: child for _, _, path, child in layers if isinstance(child, nn.Linear) and mode != "none"}
    tied = {path: shared[child.weight] for path, child in linear.items() if child.weight in shared}
    apart = {path: child for path, child in linear.items() if path not in tied}
    wide: list[str] = []
    calibrated: dict[str, Int4Weight] = {}
    with _looking_up_rows(model):
        if max_bytes is not None:
            wide = _layers_in_8_bits(model, apart, shared, texts, group_size, dtype, max_bytes)
        for parent, name, path, child in layers:
            if path in tied and isinstance(child, nn.Linear):
                setattr(parent, name, QuantizedLinear(tied[path], child.bias))
                if all(each is not child.weight for each in model.parameters()):
                    child.weight.data = torch.empty(0)  # the largest weight of a small model, in fp32
        if mode == "int4" and texts:
            narrow = {path: child for path, child in apart.items() if path not in wide}
            calibrated = _calibrated(model, narrow, texts, group_size)
    for parent, name, path, child in layers:
        if path in apart and isinstance(child, nn.Linear):
            weight = calibrated.get(path)
            weight = weight or _quantized_weight(child.weight, path, "int8" if path in wide else mode, group_size)
            setattr(parent, name, QuantizedLinear(weight, child.bias))
    for module in model.modules():
        if isinstance(module, Int4Weight):
            continue
        for tensors, element in ((module.parameters(False), dtype), (module.buffers(False), torch.float32)):
            for tensor in tensors:
                if tensor.is_floating_point():
                    tensor.data = tensor.data.to(element)
    return wide


@contextmanager
def _looking_up_rows(model: nn.Module) -> Generator[None]:
    """Embeddings dequantise only the rows that tokens ask for. Programs do so too, but PyTorch would dequantise a whole
    table for each text, in several times the memory of its numbers in fp32."""
    embeddings = [each for each in model.modules() if isinstance(each, QuantizedEmbedding)]
    for embedding in embeddings:
        embedding.by_rows = True
    try:
        yield
    finally:
        for embedding in embeddings:
            embedding.by_rows = False


def _layers_in_8_bits(
    model: nn.Module,
    layers: Mapping[str, nn.Linear],
    shared: Mapping[Tensor, Int8Weight],
    texts: Sequence[Sequence[int]],
    group_size: int,
    dtype: torch.dtype,
    max_bytes: int,
) -> list[str]:
    """Those that the budget has room for; embeddings are quantised already."""
    nearest = {path: _quantized_weight(layer.weight, path, "int4", group_size) for path, layer in layers.items()}
    in_8_bits = {path: layer.weight.numel() + 4 * layer.out_features for path, layer in layers.items()}
    costs = {path: in_8_bits[path] - nearest[path].stored_bytes for path in layers}
    replaced = {layer.weight for layer in layers.values()} | set(shared)
    others = sum(weight.numel() for weight in set(model.parameters()) - replaced) * dtype.itemsize
    weights = [*nearest.values(), *(each for each in model.modules() if isinstance(each, Int8Weight | Int4Weight))]
    least = others + sum(weight.stored_bytes for weight in weights)
    if least > max_bytes:
        raise LlmError(f"weights take {least:,} bytes in 4 bits: give --max-bytes {least} or more")
    return layers_to_keep(costs, divergences(model, layers, nearest, texts), max_bytes - least)


def _quantized_weight(weight: Tensor, path: str, mode: Mode, group_size: int) -> Int8Weight | Int4Weight:
    if mode == "int8":
        return Int8Weight(weight)
    _check_groups(weight, path, group_size)
    return Int4Weight.nearest(weight, group_size)


def _check_groups(weight: Tensor, path: str, group_size: int) -> None:
    inputs = weight.shape[1]
    if inputs % group_size:
        sizes = [str(size) for size in range(32, inputs + 1, 32) if inputs % size == 0]
        what = f"--group-size {' or '.join(sizes)} divides them" if sizes else "give --quantize int8"
        raise LlmError(f"'{path}' has {inputs} inputs, no multiple of the group size {group_size}: {what}")


def _calibrated(
    model: nn.Module, layers: Mapping[str, nn.Linear], texts: Sequence[Sequence[int]], group_size: int
) -> dict[str, Int4Weight]:
    """Weights by the paths of their layers; embeddings are quantised already."""
    for path, layer in layers.items():
        _check_groups(layer.weight, path, group_size)
    model.float()
    found = dict[str, Int4Weight]()

    def take(path: str, rounded: Rounded) -> None:
        found[path] = Int4Weight.of(rounded, group_size)

    round_linear_layers(model, layers, texts, group_size, take)
    return found


def _blocks(weight: Tensor) -> tuple[Tensor, ...]:
    """A weight [channels, inputs] in parts of whole channels, so that what is computed of it takes little memory."""
    return weight.detach().split(max(BLOCK // weight.shape[1], 1))


def _rounded(weight: Tensor, scales: Tensor, least: int, largest: int) -> Generator[tuple[int, Tensor]]:
    """The integers (int8) from `least` to `largest` of a weight [channels, inputs] with scales [channels, groups], some
    channels at a time, each time with the number of the first one."""
    begin = 0
    for block in _blocks(weight):
        end = begin + len(block)
        groups = block.float().reshape(len(block), scales.shape[1], -1)
        rounded = (groups / scales[begin:end, :, None]).round_()
        yield begin, rounded.clamp_(least, largest).reshape(block.shape).to(torch.int8)
        begin = end


class Int8Weight(nn.Module):
    """A weight [channels, inputs] as integers from −127 to 127 with a scale for each channel."""

    integers: Tensor
    scales: Tensor
    zero_points: Tensor

    def __init__(self, weight: Tensor):
        super().__init__()
        scales = torch.cat([block.abs().amax(dim=1).float() / 127 for block in _blocks(weight)])
        scales[scales == 0] = 1
        integers = torch.empty(weight.shape, dtype=torch.int8)
        for begin, part in _rounded(weight, scales[:, None], -127, 127):
            integers[begin : begin + len(part)] = part
        self.register_buffer("integers", integers)
        self.register_buffer("scales", scales)
        self.register_buffer("zero_points", torch.zeros_like(scales, dtype=torch.int64))

    def rows(self, indices: Tensor) -> Tensor:
        """The rows of the dequantised weight at these indices [...], fp32 [..., inputs]."""
        return self.integers[indices].float() * self.scales[indices][..., None]

    @property
    def stored_bytes(self) -> int:
        """What a file has of it."""
        return self.integers.nbytes + self.scales.nbytes

    def forward(self) -> Tensor:
        """The weight, dequantised."""
        span = (0, -127, 127, torch.int8)
        return _quantized.dequantize_per_channel(self.integers, self.scales, self.zero_points, *span)


class Int4Weight(nn.Module):
    """A weight [channels, inputs] as integers from −8 to 7 with a bf16 scale for each group of inputs of a channel."""

    packed: Tensor
    """uint8 [channels, inputs / 2], as `xir.ir.nibbles` has it."""
    scales: Tensor
    """[channels, groups], bf16, as files have them."""

    def __init__(self, packed: Tensor, scales: Tensor, group_size: int):
        super().__init__()
        self._group_size = group_size
        self.register_buffer("packed", packed)
        self.register_buffer("scales", scales.bfloat16())

    @classmethod
    def nearest(cls, weight: Tensor, group_size: int) -> Int4Weight:
        """The nearest integers, with the scales of the least squared error."""
        scales = group_scales(weight.detach(), group_size, -8, 7)
        packed = torch.empty((weight.shape[0], weight.shape[1] // 2), dtype=torch.uint8)
        for begin, part in _rounded(weight, scales, -8, 7):
            packed[begin : begin + len(part)] = torch.from_numpy(nibbles.pack(part.numpy()).bytes)
        return cls(packed, scales, group_size)

    @classmethod
    def of(cls, rounded: Rounded, group_size: int) -> Int4Weight:
        """A weight that is rounded already."""
        integers = rounded.integers.to(torch.int8)
        return cls(torch.from_numpy(nibbles.pack(integers.numpy()).bytes), rounded.scales, group_size)

    def rows(self, indices: Tensor) -> Tensor:
        """The rows of the dequantised weight at these indices [...], fp32 [..., inputs]."""
        flat = indices.flatten()
        found = dequantize_int4(self.packed[flat], self.scales[flat], self._group_size)
        return found.reshape(*indices.shape, found.shape[-1])

    @property
    def stored_bytes(self) -> int:
        """What a file has of it."""
        return self.packed.nbytes + self.scales.nbytes

    def forward(self) -> Tensor:
        """The weight, dequantised."""
        return dequantize_int4(self.packed, self.scales, self._group_size)


class QuantizedLinear(nn.Module):
    """A linear layer on int8 rows: each vector of the last dimension is quantised by its own range."""

    def __init__(self, weight: Int8Weight | Int4Weight, bias: Tensor | None):
        super().__init__()
        self.quantized = weight
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] to [..., channels], of the type of `x`."""
        original, x = x.dtype, x.float()
        scale, zero_point = _quantized.choose_qparams_per_token_asymmetric(x, torch.int8)
        span = (scale, zero_point, -128, 127, torch.int8)
        rounded = _quantized.dequantize_per_token(_quantized.quantize_per_token(x, *span), *span, torch.float32)
        bias = None if self.bias is None else self.bias.float()
        return functional.linear(rounded, self.quantized(), bias).to(original)


class QuantizedEmbedding(nn.Module):
    """An embedding with a quantised table, of which the compiler dequantises the rows that are looked up."""

    def __init__(self, original: nn.Embedding, weight: Int8Weight | Int4Weight, dtype: torch.dtype = torch.float32):
        super().__init__()
        self.quantized = weight
        self.by_rows = False
        """Whether to look rows up before they are dequantised; with the whole table, compilers know the operator."""
        self._dtype = dtype
        self._factor = float(getattr(original, "embed_scale", 1.0))

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens [...] to [..., features]."""
        rows = self.quantized.rows(tokens) if self.by_rows else functional.embedding(tokens, self.quantized())
        rows = rows.to(self._dtype)
        return rows if self._factor == 1 else rows * self._factor
