"""What a user chooses about quantisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Mode = Literal["static", "dynamic", "int4"]
Observer = Literal["histogram", "minmax"]


@dataclass(frozen=True)
class QuantConfig:
    """How to quantise; the defaults are static int8, with weights by output channel.

    ValueError for values that make no sense together.
    """

    mode: Mode = "static"
    """`static`: int8 weights and activations, whose ranges come from calibration. `dynamic`: int8 weights, and
    activations of linear layers and convolutions quantised as they come, by row; the rest computes in float.
    `int4`: as `dynamic`, with 4-bit weights in linear layers (known as 8da4w)."""
    per_channel: bool = True
    """Weights have a scale for each output channel; False: one for the tensor. 4-bit weights always have several."""
    group_size: int | None = 32
    """4-bit weights have a scale for this many neighbouring inputs of each output channel (a multiple of 32, as
    XNNPACK wants); None: one for the channel."""
    observer: Observer = "histogram"
    """Where a static activation's range comes from. `histogram` cuts off outliers where that makes the mean squared
    error smaller, `minmax` cuts off nothing."""
    bias_correction: bool = True
    """In static mode, let biases take back what rounding the weights adds to the mean of each output channel."""
    attention: bool = True
    """Compute the two products of `scaled_dot_product_attention` on integers in static mode; softmax stays float."""
    keep_float: tuple[str, ...] = ()
    """Layers to leave in float: patterns (`*` matches anything) of a module's path (`encoder.layers.*`), of an operator
    (`aten.add`), or of a node's name in the exported graph (`conv2d_3`)."""
    min_sqnr: float | None = None
    """Leave layers in float, the worst first, until the outputs' signal-to-quantisation-noise ratio on the calibration
    inputs is at least this many dB."""
    qat: bool = False
    """Fake-quantise instead of observe, for `prepare_qat_pt2e` and training."""

    def __post_init__(self) -> None:
        if self.mode not in ("static", "dynamic", "int4"):
            raise ValueError(f"mode is 'static', 'dynamic' or 'int4', not '{self.mode}'")
        if self.observer not in ("histogram", "minmax"):
            raise ValueError(f"observer is 'histogram' or 'minmax', not '{self.observer}'")
        if self.min_sqnr is not None and not math.isfinite(self.min_sqnr):
            raise ValueError(f"min_sqnr is a number of decibels, not {self.min_sqnr}")
        if self.group_size is not None and (self.group_size <= 0 or self.group_size % 32):
            raise ValueError(f"group_size is a positive multiple of 32, not {self.group_size}")


DEFAULT = QuantConfig()
