"""Smoothing: channels of a norm's result that are much larger than others are scaled down before products with weights,
and the weights' inputs up (SmoothQuant, Xiao et al., 2022, arXiv 2211.10438).

A product quantises what it reads with one scale for a vector or a tensor, which its largest channel decides, and
weights with one for each output channel. A channel of the activation that is divided by s and multiplied by s in the
weights changes no result, and moves the difficulty from one to the other. Factors are a^α / w^(1−α) for the largest
magnitudes a of the activation's and w of the weights' channels; of several α, the one whose products have the least
error on the calibration inputs.

Where these products alone read a norm, its weight and bias take the factors in. Elsewhere, as where a residual sum
reads the norm too, a multiplication of the activation is put before the products.
"""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Interpreter, Node
from torch.nn import functional

from xir.progress import counted

from .layerwise import by_token
from .observers import PerChannelRange, Range, TokenRange
from .operators import arguments_of
from .rounding import Grid
from .sensitivity import FACTORS
from .state import attribute

STRENGTHS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""The α that are tried."""

LARGEST_ROWS = 2048
"""How many vectors of an activation errors are measured on, over all inputs."""

LEAST_GAIN = 0.8
"""What the products' error has to fall to, of that without factors, for a norm to be scaled. Where channels are alike,
as with random weights, it falls by less, and what is best on some inputs is not on others."""

TINY = 1e-5
"""A channel that reaches no more than this, of the largest number of all, is left alone."""

_aten = torch.ops.aten
_NORMS = frozenset({_aten.layer_norm.default, _aten.rms_norm.default})


@dataclass(frozen=True)
class _Product:
    """A linear layer whose operands are observed for 8 bits."""

    node: Node
    weight: str
    """The attribute [outputs, inputs] that nothing else reads."""
    grid: PerChannelRange
    by_token: bool
    """Whether each vector of the activation has its own scale; else the tensor has one."""


@dataclass
class _Site:
    """A norm, and the products that read it."""

    norm: Node
    products: list[_Product] = field(default_factory=list[_Product])
    observers: list[Node] = field(default_factory=list[Node])
    """Those of the norm's result for these products alone."""


def smooth(observed: GraphModule, samples: Sequence[tuple[Any, ...]]) -> int:
    """Scale the results of norms in a prepared graph, by what products make of them on `samples`.

    Returns how many norms were scaled. The graph gets parameters of its own where they change; its results stay.
    """
    sites = _sites(observed)
    if not sites:
        return 0
    seen = SeenRows(observed, [site.norm for site in sites], len(samples))
    with torch.no_grad():
        for sample in counted("Smoothing", samples):
            seen.run(*sample)
        return sum(_apply(observed, site, seen.of(site.norm)) for site in sites)


def _sites(observed: GraphModule) -> list[_Site]:
    readers = Counter(str(node.target) for node in observed.graph.nodes if node.op == "get_attr")
    found: dict[Node, _Site] = {}
    for node in observed.graph.nodes:
        product = _product(observed, node, readers)
        if product is None:
            continue
        observer = node.all_input_nodes[0]
        norm = observer.all_input_nodes[0]
        if _is_norm(observed, norm):
            site = found.setdefault(norm, _Site(norm))
            site.products.append(product)
            if observer not in site.observers:
                site.observers.append(observer)
    return [site for each in found.values() for site in _whole(each)]


def _whole(site: _Site) -> Iterator[_Site]:
    """The site without products whose observer something else uses as well."""
    nodes = {each.node for each in site.products}
    observers = [each for each in site.observers if nodes.issuperset(each.users)]
    products = [each for each in site.products if each.node.all_input_nodes[0] in observers]
    if products:
        yield _Site(site.norm, products, observers)


def _product(observed: GraphModule, node: Node, readers: Mapping[str, int]) -> _Product | None:
    if node.target is not _aten.linear.default or len(node.all_input_nodes) < 2:
        return None
    value, weight = node.all_input_nodes[:2]
    if value.op != "call_module" or weight.op != "call_module" or len(weight.users) > 1:
        return None
    grid = observed.get_submodule(str(weight.target))
    activation: Any = observed.get_submodule(str(value.target))
    source = weight.all_input_nodes[0]
    if not isinstance(grid, PerChannelRange) or not isinstance(activation, Range | TokenRange):
        return None
    if source.op != "get_attr" or readers[str(source.target)] != 1 or len(source.users) > 1:
        return None
    return _Product(node, str(source.target), grid, isinstance(activation, TokenRange))


def _is_norm(observed: GraphModule, node: Node) -> bool:
    """Whether a node normalises vectors, or multiplies by a weight for each channel, the last step of a norm."""
    if node.target in _NORMS:
        return True
    return node.target is _aten.mul.Tensor and _scale_of(observed, node) is not None


def _scale_of(observed: GraphModule, norm: Node) -> Node | None:
    """The attribute [channels] that a norm multiplies by last."""
    if norm.target in _NORMS:
        found = arguments_of(norm).get("weight")
        candidates = [found] if isinstance(found, Node) else []
    else:
        candidates = norm.all_input_nodes
    for each in candidates:
        if each.op == "get_attr" and attribute(observed, str(each.target)).shape == norm.meta["val"].shape[-1:]:
            return each
    return None


class SeenRows(Interpreter):
    """Runs a prepared graph without its observers, and keeps vectors of some nodes' results."""

    def __init__(self, observed: GraphModule, nodes: Sequence[Node], samples: int):
        super().__init__(observed)
        self._rows: dict[Node, list[Tensor]] = {node: [] for node in nodes}
        self._largest: dict[Node, Tensor] = {}
        self._each = max(LARGEST_ROWS // max(samples, 1), 1)

    def run_node(self, n: Node) -> Any:
        """The node's result."""
        if n.op == "call_module" and n.args:
            return self.env[n.all_input_nodes[0]]
        value = super().run_node(n)
        if n in self._rows and value.numel():
            rows = value.reshape(-1, value.shape[-1])
            largest = rows.abs().amax(0)
            self._largest[n] = torch.maximum(self._largest[n], largest) if n in self._largest else largest
            self._rows[n].append(rows[:: max(-(-len(rows) // self._each), 1)].clone())
        return value

    def of(self, node: Node) -> tuple[Tensor, Tensor]:
        """Vectors [n, channels], and the largest magnitude of each channel of all that were seen."""
        if node not in self._largest:
            return torch.zeros(0, 0), torch.zeros(0)
        return torch.cat(self._rows[node]), self._largest[node]


def _apply(observed: GraphModule, site: _Site, seen: tuple[Tensor, Tensor]) -> bool:
    """Scale a norm's result if that makes its products better. Whether it did."""
    rows, largest = seen
    weights = [attribute(observed, each.weight).detach() for each in site.products]
    finite = all(bool(each.isfinite().all()) for each in (largest, *weights))
    if not len(rows) or not finite or not float(largest.max()) > 0:
        return False
    needed = torch.stack([each.abs().amax(0) for each in weights]).amax(0)
    if not float(needed.max()) > 0:
        return False
    tried = [_factors(largest, needed, strength) for strength in STRENGTHS]
    exact = [functional.linear(rows, each) for each in weights]
    errors = [
        sum(_error(rows, factors, *each) for each in zip(site.products, weights, exact, strict=True))
        for factors in (torch.ones_like(largest), *tried)
    ]
    best = min(range(len(tried)), key=lambda index: errors[index + 1])
    if not errors[best + 1] < errors[0] * LEAST_GAIN:
        return False
    folded = _foldable(observed, site)
    for each, weight in zip(site.products, weights, strict=True):
        set_parameter(observed, each.weight, weight * tried[best])
    if folded:
        for name in folded:
            set_parameter(observed, name, attribute(observed, name).detach() / tried[best])
    else:
        multiply(observed, site.norm, 1 / tried[best], site.observers)
    return True


def _factors(activation: Tensor, weight: Tensor, strength: float) -> Tensor:
    """What a channel is divided by, powers of two: in floating point, products have the same results to the last bit.

    Channels that reach nothing are left alone.
    """
    alive = (activation > TINY * activation.max()) & (weight > TINY * weight.max())
    found = strength * activation.log2() - (1 - strength) * weight.log2()
    return torch.where(alive, torch.exp2((found - found[alive].mean()).round()), torch.ones_like(found))


def _error(rows: Tensor, factors: Tensor, product: _Product, weight: Tensor, exact: Tensor) -> float:
    """The squared error of a product in 8 bits, by the power of its results."""
    scaled = rows / factors
    values = by_token(scaled) if product.by_token else _by_tensor(scaled)
    wide = weight * factors
    span = product.grid.quant_max
    scale = wide.abs().amax(1, keepdim=True).clamp(min=torch.finfo(torch.float32).tiny * span) / span
    rounded = Grid(scale, 0, product.grid.quant_min, span).round(wide)
    power = float(exact.square().mean())
    return float((functional.linear(values, rounded) - exact).square().mean()) / power if power > 0 else 0.0


def _by_tensor(value: Tensor) -> Tensor:
    """The value in 8 bits with one scale, of the ranges that observers try the one of the least squared error."""
    low, high = (float(each) for each in torch.aminmax(value))
    low, high = min(low, 0.0), max(high, 0.0)
    best, least = value, float("inf")
    for factor in FACTORS:
        scale = (high - low) * factor / 255
        if not scale > 0:
            break
        zero_point = max(min(round(-128 - low * factor / scale), 127), -128)
        rounded = torch.fake_quantize_per_tensor_affine(value, scale, zero_point, -128, 127)
        error = float((rounded - value).square().sum())
        if error < least:
            best, least = rounded, error
    return best


def _foldable(observed: GraphModule, site: _Site) -> list[str]:
    """The parameters of the norm that take the factors in; none if something else reads it or them."""
    norm = site.norm
    scale = _scale_of(observed, norm)
    if scale is None or set(norm.users) != set(site.observers):
        return []
    bias = arguments_of(norm).get("bias") if norm.target is _aten.layer_norm.default else None
    found = [scale] if bias is None else [scale, bias]
    readers = Counter(str(node.target) for node in observed.graph.nodes if node.op == "get_attr")
    if any(each.op != "get_attr" or len(each.users) > 1 or readers[str(each.target)] > 1 for each in found):
        return []
    return [str(each.target) for each in found]


def multiply(observed: GraphModule, value: Node, factors: Tensor, readers: Sequence[Node]) -> None:
    """Let some of a value's readers read its product with factors for each channel."""
    name = f"{value.name}_factors"
    observed.register_parameter(name, nn.Parameter(factors, requires_grad=False))
    graph = observed.graph
    with graph.inserting_after(value):
        attribute_node = graph.get_attr(name)
    with graph.inserting_after(attribute_node):
        product = graph.call_function(_aten.mul.Tensor, (value, attribute_node))
    attribute_node.meta["val"] = factors
    product.meta.update(
        {key: value.meta[key] for key in ("val", "stack_trace", "nn_module_stack") if key in value.meta}
    )
    for each in readers:
        each.replace_input_with(value, product)
    observed.recompile()


def set_parameter(observed: GraphModule, name: str, value: Tensor) -> None:
    """Give a parameter of the graph another value."""
    path, _, last = name.rpartition(".")
    setattr(observed.get_submodule(path), last, nn.Parameter(value, requires_grad=False))
