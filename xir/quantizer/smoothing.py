"""Smoothing: channels of a norm's result that are much larger than others are scaled down before products with weights,
and the weights' inputs up (SmoothQuant, Xiao et al., 2022, arXiv 2211.10438).

A product quantises what it reads with one scale for a vector or a tensor, which its largest channel decides, and
weights with one for each output channel. A channel of the activation that is divided by s and multiplied by s in the
weights changes no result, and moves the difficulty from one to the other. Factors are a^α / w^(1−α) for the largest
magnitudes a of the activation's and w of the weights' channels; of several α, the one whose products have the least
error on the calibration inputs.

Norms whose products share a weight, as in ALBERT, have the same factors, from what all of them reach. Where one of
these products reads a linear layer instead, the rows of that layer's weight take the factors in. Where these products
alone read a norm, its weight and bias take the factors in. Elsewhere, as where a residual sum reads the norm too, a
multiplication of the activation is put before the products.
"""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Interpreter, Node
from torch.nn import functional

from xir.progress import counted

from .layerwise import by_token
from .norms import is_norm, norm_parameters
from .observers import PerChannelRange, Range, TokenRange
from .parameter_readers import ParameterReaders, parameter_of
from .rounding import Grid
from .sensitivity import FACTORS
from .state import attribute, set_parameter

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


@dataclass(frozen=True)
class _Product:
    """A linear layer whose operands are observed for 8 bits."""

    node: Node
    weight: str
    """The attribute [outputs, inputs]."""
    grid: PerChannelRange
    observer: Node
    """That of the activation."""
    by_token: bool
    """Whether each vector of the activation has its own scale; else the tensor has one."""


@dataclass(frozen=True)
class _Site:
    """A norm or the result of a linear layer, and the products that read it."""

    value: Node
    products: Sequence[_Product]
    rows: Sequence[str] = ()
    """The weight and bias that a linear layer alone has."""

    @property
    def observers(self) -> list[Node]:
        """Those of the value that these products read."""
        return list(dict.fromkeys(each.observer for each in self.products))

    @property
    def others(self) -> dict[Node, list[Node]]:
        """What else reads the value or an observer."""
        products = {each.node for each in self.products}
        found = {self.value: [each for each in self.value.users if each not in self.observers]}
        found |= {each: [user for user in each.users if user not in products] for each in self.observers}
        return {read: nodes for read, nodes in found.items() if nodes}


def smooth(observed: GraphModule, samples: Sequence[tuple[Any, ...]]) -> int:
    """Scale the results of norms in a prepared graph, by what products make of them on `samples`.

    Returns how many norms were scaled. The graph gets parameters of its own where they change; its results stay.
    """
    readers = ParameterReaders(observed.graph)
    groups = _groups(_whole(_sites(observed, readers), readers))
    if not groups:
        return 0
    seen = SeenRows(observed, [site.value for group in groups for site in group], len(samples))
    with torch.no_grad():
        for sample in counted("Smoothing", samples):
            seen.run(*sample)
        return sum(len(group) for group in groups if _apply(observed, group, seen, readers))


def _sites(observed: GraphModule, readers: ParameterReaders) -> list[_Site]:
    found: dict[Node, list[_Product]] = {}
    for node in observed.graph.nodes:
        product = _product(observed, node)
        if product is not None:
            found.setdefault(product.observer.all_input_nodes[0], []).append(product)
    sites = [(value, products, _rows(observed, value, readers)) for value, products in found.items()]
    return [_Site(*each) for each in sites if each[2] or is_norm(observed, each[0])]


def _rows(observed: GraphModule, value: Node, readers: ParameterReaders) -> list[str]:
    """The weight and bias of a linear layer on integers that nothing else reads; none for another value."""
    if value.target is not _aten.linear.default:
        return []
    weight, *bias = value.all_input_nodes[1:]
    if weight.op != "call_module" or not isinstance(observed.get_submodule(str(weight.target)), PerChannelRange):
        return []
    names = [readers.owned(each) for each in (weight, *bias)]
    return [each for each in names if each is not None] if None not in names else []


def _whole(sites: Sequence[_Site], readers: ParameterReaders) -> list[_Site]:
    """The sites without products whose weight or observer something else uses as well."""
    while True:
        nodes = {each.node for site in sites for each in site.products}
        left = [
            _Site(site.value, products, site.rows)
            for site in sites
            if (products := [each for each in site.products if _is_used_by(each, site, nodes, readers)])
        ]
        if sum(len(site.products) for site in left) == len(nodes):
            return left
        sites = left


def _is_used_by(product: _Product, site: _Site, nodes: set[Node], readers: ParameterReaders) -> bool:
    """Whether these products alone use a product's weight and, on integers, what it reads."""
    if not nodes.issuperset(readers.of(product.weight)):
        return False
    if not site.rows:
        return nodes.issuperset(product.observer.users)
    return not any(is_integer(each) for others in site.others.values() for each in others)


def is_integer(reader: Node) -> bool:
    """Whether a reader computes or moves integers: it is an observer, or has one of its own."""
    return any(each.op == "call_module" for each in (reader, *reader.users))


def _groups(sites: Iterable[_Site]) -> list[list[_Site]]:
    """The sites that share weights, directly or by others; a norm is among them."""
    groups: list[tuple[set[str], list[_Site]]] = []
    for site in sites:
        weights, members = {each.weight for each in site.products}, [site]
        for group in [each for each in groups if not weights.isdisjoint(each[0])]:
            groups.remove(group)
            weights, members = weights | group[0], [*group[1], *members]
        groups.append((weights, members))
    return [members for _, members in groups if any(not each.rows for each in members)]


def _product(observed: GraphModule, node: Node) -> _Product | None:
    if node.target is not _aten.linear.default or len(node.all_input_nodes) < 2:
        return None
    value, weight = node.all_input_nodes[:2]
    if value.op != "call_module" or weight.op != "call_module":
        return None
    grid, name = observed.get_submodule(str(weight.target)), parameter_of(weight)
    activation: Any = observed.get_submodule(str(value.target))
    if name is None or not isinstance(grid, PerChannelRange) or not isinstance(activation, Range | TokenRange):
        return None
    return _Product(node, name, grid, value, isinstance(activation, TokenRange))


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


def _apply(observed: GraphModule, group: Sequence[_Site], seen: SeenRows, readers: ParameterReaders) -> bool:
    """Scale the results of norms whose products share weights, if that makes these better. Whether it did."""
    names = {each.weight for site in group for each in site.products}
    weights = {name: attribute(observed, name).detach() for name in names}
    known = [(site, *found) for site in group if len((found := seen.of(site.value))[0])]
    finite = all(bool(each.isfinite().all()) for each in (*(largest for _, _, largest in known), *weights.values()))
    if not known or not finite:
        return False
    largest = torch.stack([each for _, _, each in known]).amax(0)
    needed = torch.stack([each.abs().amax(0) for each in weights.values()]).amax(0)
    if not float(largest.max()) > 0 or not float(needed.max()) > 0:
        return False
    tried = [_factors(largest, needed, strength) for strength in STRENGTHS]
    errors = [0.0] * (len(tried) + 1)
    for site, rows, _ in known:
        some = rows[:: len(known)]
        for product in site.products:
            weight = weights[product.weight]
            exact = functional.linear(some, weight)
            for index, factors in enumerate((*tried, torch.ones_like(largest))):
                errors[index] += _error(some, factors, product, weight, exact)
    best = min(range(len(tried)), key=errors.__getitem__)
    if not errors[best] < errors[-1] * LEAST_GAIN:
        return False
    for name, weight in weights.items():
        set_parameter(observed, name, weight * tried[best])
    folding = _folding(observed, group, readers)
    for name in {each for names in folding.values() for each in names}:
        set_parameter(observed, name, attribute(observed, name).detach() / tried[best])
    for site in group:
        for name in site.rows:
            old = attribute(observed, name).detach()
            set_parameter(observed, name, old / tried[best].reshape(-1, *[1] * (old.ndim - 1)))
        if site.rows:
            for read, others in site.others.items():
                multiply(observed, read, tried[best], others)
        elif site.value not in folding:
            multiply(observed, site.value, 1 / tried[best], site.observers)
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


def _folding(observed: GraphModule, group: Sequence[_Site], readers: ParameterReaders) -> dict[Node, list[str]]:
    """The norms whose weight and bias take the factors in, and these; nothing else reads the norms or parameters."""
    found = {
        site.value: names
        for site in group
        if set(site.value.users) == set(site.observers) and (names := norm_parameters(observed, site.value))
    }
    while True:
        left = {
            norm: names for norm, names in found.items() if all(found.keys() >= {*readers.of(name)} for name in names)
        }
        if len(left) == len(found):
            return found
        found = left


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
