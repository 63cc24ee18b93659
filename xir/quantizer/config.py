"""The options of quantisation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Mode = Literal["static", "dynamic", "int4"]
Effort = Literal["fast", "best"]
Observer = Literal["outputs", "histogram", "minmax"]


@dataclass(frozen=True)
class QuantConfig:
    """Options of quantisation; the defaults are static int8, with weights by output channel.

    Raises ValueError for values that are invalid or contradict each other.
    """

    mode: Mode = "static"
    """`static`: int8 weights, and int8 activations with ranges from calibration. `dynamic`: int8 weights; linear layers
    and convolutions quantise their input at run time, by row, and the rest computes in float. `int4`: as `dynamic`,
    with 4-bit weights in linear layers (8da4w)."""
    per_channel: bool = True
    """Weights have a scale for each output channel; False: one for the tensor. 4-bit weights always have several."""
    group_size: int | None = 32
    """The number of neighbouring inputs of an output channel that share a scale of 4-bit weights, a multiple of 32, as
    XNNPACK requires; None: all inputs of the channel."""
    observer: Observer = "outputs"
    """How to choose the range of a static activation. `outputs` cuts off outliers if that reduces the error of the
    model's outputs; `histogram`, if it reduces the value's own squared error; `minmax` keeps the whole range."""
    equalization: bool = True
    """In static mode, scale the channels of values, in the weights on both sides, to need similar ranges."""
    smoothing: bool = True
    """In the modes `static` and (with calibration inputs) `dynamic`, scale down the largest channels of norms' results
    where 8-bit products read them, and the products' weights up. In `static`, give the results of linear layers that
    only floating point reads about the same range in each channel."""
    effort: Effort = "fast"
    """How to round 8-bit weights of static layers. `fast` rounds to the nearest; `best` rounds one weight after the
    other, so that the errors of an output channel compensate for each other on the calibration inputs. Dynamic layers
    are rounded so in any case, if there are calibration inputs."""
    bias_correction: bool = True
    """In static mode, correct biases for the shift that rounding weights and operands causes in each output channel's
    mean, and the weights that read a table of embeddings for their rounded rows."""
    attention: bool = True
    """Compute the two products of `scaled_dot_product_attention` on integers in static mode; softmax stays float."""
    keep_float: tuple[str, ...] = ()
    """Layers to leave in float: patterns (`*` matches anything) of a module's path (`encoder.layers.*`), of an operator
    (`aten.add`), or of a node's name in the exported graph (`conv2d_3`)."""
    min_sqnr: float | None = None
    """Keep layers in float, the worst first, until each output's signal-to-quantisation-noise ratio on the calibration
    inputs is at least this many dB."""
    max_drop: float | Mapping[str, float] | None = None
    """Keep layers in float until each number of the metric is at most this much below the float program's; a mapping
    bounds the numbers of these names alone."""
    cpu: str = "generic"
    """The processor whose cost profile predicts the time of layers in float, for `min_sqnr` and `max_drop`. Names are
    those of `xir-aot --cpu`."""
    qat: bool = False
    """Fake-quantise instead of observing, for `prepare_qat_pt2e` and training."""

    def __post_init__(self) -> None:
        if self.mode not in ("static", "dynamic", "int4"):
            raise ValueError(f"mode is 'static', 'dynamic' or 'int4', not '{self.mode}'")
        if self.observer not in ("outputs", "histogram", "minmax"):
            raise ValueError(f"observer is 'outputs', 'histogram' or 'minmax', not '{self.observer}'")
        if self.effort not in ("fast", "best"):
            raise ValueError(f"effort is 'fast' or 'best', not '{self.effort}'")
        if self.min_sqnr is not None and not math.isfinite(self.min_sqnr):
            raise ValueError(f"min_sqnr is a number of decibels, not {self.min_sqnr}")
        for bound in self.max_drop.values() if isinstance(self.max_drop, Mapping) else (self.max_drop,):
            if bound is not None and not 0 <= bound < math.inf:
                raise ValueError(f"max_drop is a number from 0 on, in the metric's unit, not {bound}")
        if self.group_size is not None and (self.group_size <= 0 or self.group_size % 32):
            raise ValueError(f"group_size is a positive multiple of 32, not {self.group_size}")


DEFAULT = QuantConfig()
