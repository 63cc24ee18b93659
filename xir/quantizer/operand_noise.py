"""What rounding the operands of static layers adds to their results, weights and biases take back where they can.

The error of rounding to one of 256 numbers is hardly ever zero on average: a channel that is nearly constant, or that
an activation holds at one end, has the same error again and again. Each channel's bias takes back the mean. What a
range cuts off is left out: it is in few places, and the bias in all.

A layer that reads rows of a table of embeddings meets each of few vectors again and again, each with the same errors.
Its weights W become the ones of the least squared error on rounded operands x̂, W·E[x·x̂ᵀ]·E[x̂·x̂ᵀ]⁻¹. Elsewhere rounding
errors are independent of everything that a layer reads, and nothing is gained. So that vectors that calibration has not
seen are served as well, the moments are drawn towards their diagonal, as far as one half of the inputs serves the
other half best (shrinkage, as by Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance
matrices", 2004).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node
from torchao.quantization.pt2e.observer import PerChannelMinMaxObserver

from xir.progress import counted
from xir.torch_threads import one_thread
from xir.transforms.xnnpack.legalizations import Quantized

from .bias_correction import MeanOperand, OperandMeans
from .observers import Range
from .operators import Operators
from .parameter_readers import ParameterReaders, parameter_of
from .rounding import columns_of, sizes_of
from .state import attribute, set_parameter

SHRINKAGES = (0.003, 0.01, 0.03, 0.1, 0.3)
"""How far moments are drawn towards their diagonal, of the whole way; the best is taken."""

LEAST_GAIN = 0.8
"""What a layer's error on inputs that its weights were not chosen for has to fall to, for them to be changed."""

LARGEST_INPUTS = 1024
"""How many inputs an output channel may have, for their moments to be solved for in a second."""

LARGEST_COLUMNS = 1 << 14
"""How many positions of an operand the moments are of, over all inputs."""

DAMPING = 1e-6
"""What is added to the moments' diagonal, of its mean, so that they can be solved for."""


@dataclass(frozen=True)
class _Spread:
    """Moments of a layer's operand x and its rounding errors e, for each group of channels f64 [inputs, inputs]."""

    operand: Tensor
    """x·xᵀ."""
    mixed: Tensor
    """x·eᵀ."""
    error: Tensor
    """e·eᵀ."""

    def error_of(self, exact: Tensor, weight: Tensor) -> float:
        """The squared error of a weight [groups, channels, inputs] on rounded operands."""
        change = weight - exact
        parts = (change, self.operand, change), (2 * change, self.mixed, weight), (weight, self.error, weight)
        return sum(float(((left @ between) * right).sum()) for left, between, right in parts)

    def weight_for(self, exact: Tensor, shrinkage: float) -> Tensor:
        """The weight of the least error for these moments, drawn towards their diagonal."""
        operand, mixed, error = (
            (1 - shrinkage) * each + shrinkage * torch.diag_embed(each.diagonal(dim1=-2, dim2=-1))
            for each in (self.operand, self.mixed, self.error)
        )
        rounded = operand + mixed + mixed.mT + error
        damping = DAMPING * rounded.diagonal(dim1=-2, dim2=-1).mean(-1) + torch.finfo(torch.float32).tiny
        more = torch.eye(rounded.shape[-1], dtype=torch.float64) * damping[:, None, None]
        return torch.linalg.solve(rounded + more, (operand + mixed + more).mT @ exact.mT).mT


@dataclass(frozen=True)
class _Moments:
    """Sums over positions of a layer's operand and its rounding errors."""

    products: _Spread
    means: tuple[Tensor, Tensor]
    """Σ x and Σ e, [groups, inputs]."""
    count: int

    @staticmethod
    def of(operand: Tensor, error: Tensor) -> _Moments:
        """Those of columns [groups, inputs, positions]."""
        x, e = operand.double(), error.double()
        return _Moments(_Spread(x @ x.mT, x @ e.mT, e @ e.mT), (x.sum(-1), e.sum(-1)), x.shape[-1])

    def __add__(self, other: _Moments) -> _Moments:
        left, right = self.products, other.products
        products = _Spread(left.operand + right.operand, left.mixed + right.mixed, left.error + right.error)
        x, e = (mine + theirs for mine, theirs in zip(self.means, other.means, strict=True))
        return _Moments(products, (x, e), self.count + other.count)

    def about(self, *, is_central: bool) -> _Spread:
        """By position, about the mean if a bias has that."""
        x, e = (each / self.count * is_central for each in self.means)

        def spread(sums: Tensor, left: Tensor, right: Tensor) -> Tensor:
            return sums / self.count - left[:, :, None] * right[:, None, :]

        found = self.products
        return _Spread(spread(found.operand, x, x), spread(found.mixed, x, e), spread(found.error, e, e))


class OperandNoise(Interpreter):
    """Runs a calibrated graph without rounding, and notes what rounding would add to what its static layers read."""

    def __init__(self, observed: GraphModule, names: Collection[str]):
        """`names` are the layers."""
        super().__init__(observed)
        self._observed, self._operators = observed, Operators()
        self._errors: dict[str, MeanOperand] = {}
        self._moments: dict[str, list[_Moments | None]] = {}
        """Of layers that read a table, for each half of the inputs."""
        self._layers: dict[Node, Range] = {}
        for node in observed.graph.nodes:
            observer = self._observer(self._operands(node)[0]) if node.name in names else None
            if isinstance(observer, Range):
                self._layers[node] = observer
        self._tables = {node for node in self._layers if self._reads_table(node)}
        self._half, self._columns = 0, LARGEST_COLUMNS

    def see(self, samples: Sequence[tuple[Any, ...]]) -> None:
        """Take in the calibration inputs."""
        self._columns = max(LARGEST_COLUMNS // max(len(samples), 1), 1)
        with torch.no_grad():
            for index, sample in enumerate(counted("Measuring rounding errors", samples if self._layers else ())):
                self._half = index % 2
                self.run(*sample)

    def run_node(self, n: Node) -> Any:
        """The node's result."""
        if n.op == "call_module" and n.args:
            return self.env[n.all_input_nodes[0]]
        if n in self._layers:
            self._note(n)
        return super().run_node(n)

    def take_back(self, means: OperandMeans) -> None:
        """Give the layers of `means`, a graph like the one that was run, weights and biases for rounded operands."""
        readers = ParameterReaders(means.observed.graph)
        for node in means.observed.graph.nodes:
            if node.name not in self._errors:
                continue
            bias = self._operators.bias(node)
            shift = None if bias is None else readers.owned(bias)
            with one_thread():
                found = self._weight(means.observed, node, readers, has_bias=shift is not None)
            means.take_back(node, shift, self._errors[node.name], found)

    def _operands(self, node: Node) -> tuple[Node, Node]:
        value, weight = self._operators.weighted_arguments(node)
        assert value is not None
        assert weight is not None
        return value, weight

    def _observer(self, node: Node) -> Any:
        return self._observed.get_submodule(str(node.target)) if node.op == "call_module" else None

    def _reads_table(self, node: Node) -> bool:
        """Whether a layer with a scale for each output channel reads numbers that were only moved from a table."""
        value, weight = self._operands(node)
        observer, name = self._observer(weight), parameter_of(weight)
        if name is None or not isinstance(observer, PerChannelMinMaxObserver) or observer.ch_axis != 0:
            return False
        groups, inputs = sizes_of(node, attribute(self._observed, name), self._operators)
        if groups is None or inputs > LARGEST_INPUTS:
            return False
        while value.target is not torch.ops.aten.embedding.default:
            is_moved = value.op == "call_module" or self._operators.kind(value) is Quantized.MOVES
            if len(value.all_input_nodes) != 1 or not is_moved:
                return False
            value = value.all_input_nodes[0]
        return True

    def _note(self, node: Node) -> None:
        value, weight = (self.env[each] for each in self._operands(node))
        if not value.numel():
            return
        scale, zero_point = (float(each) for each in self._layers[node].calculate_qparams())
        exact = value.clamp((-128 - zero_point) * scale, (127 - zero_point) * scale)
        error = torch.fake_quantize_per_tensor_affine(exact, scale, int(zero_point), -128, 127) - exact
        self._errors.setdefault(node.name, MeanOperand(weight)).add(error)
        if node not in self._tables:
            return
        groups, _ = sizes_of(node, weight, self._operators)
        assert groups is not None
        columns = [columns_of(node, weight, each, groups) for each in (exact, error)]
        step = -(-columns[0].shape[-1] // self._columns)
        with one_thread():
            found = _Moments.of(*(each[..., ::step] for each in columns))
        halves = self._moments.setdefault(node.name, [None, None])
        before = halves[self._half]
        halves[self._half] = found if before is None else before + found

    def _weight(self, observed: GraphModule, node: Node, readers: ParameterReaders, *, has_bias: bool) -> Tensor | None:
        """The weight of a layer that reads a table, which is given to the graph; None if the old one is to stay."""
        halves = [each for each in self._moments.get(node.name, ()) if each is not None]
        known = [each.about(is_central=has_bias) for each in halves]
        weight = self._operands(node)[1]
        name = readers.owned(weight)
        if len(known) < 2 or name is None:
            return None
        old = attribute(observed, name).detach()
        rows = old.double().reshape(len(known[0].operand), -1, known[0].operand.shape[-1])
        tried = [
            sum(seen.error_of(rows, other.weight_for(rows, shrinkage)) for seen, other in (known, known[::-1]))
            for shrinkage in SHRINKAGES
        ]
        best = min(range(len(tried)), key=tried.__getitem__)
        if not tried[best] < LEAST_GAIN * sum(each.error_of(rows, rows) for each in known):
            return None
        new = (
            (halves[0] + halves[1])
            .about(is_central=has_bias)
            .weight_for(rows, SHRINKAGES[best])
            .reshape(old.shape)
            .float()
        )
        if not bool(new.isfinite().all()):
            return None
        set_parameter(observed, name, new)
        observer: Any = observed.get_submodule(str(weight.target))
        observer.reset_min_max_vals()
        observer(new)
        return new
