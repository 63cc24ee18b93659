"""Norms whose results are scaled before products: the same results, for a better use of the integers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch
from quantizer.signal_to_noise import quality
from torch import Tensor, nn
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

import xir
from xir.quantizer import QuantConfig, WrongQuantizationError, XnnpackQuantizer, smoothing
from xir.quantizer.measurement import without_observers
from xir.quantizer.side_by_side import run_alone
from xir.quantizer.smoothing import smooth

pytestmark = pytest.mark.filterwarnings("ignore")

Mode = Literal["static", "dynamic"]
CHANNELS = 32
OUTLIERS = [3, 17]
TEXTS = [(torch.randn(2, 12, CHANNELS, generator=torch.Generator().manual_seed(seed)),) for seed in range(8)]


class ScaledNorm(nn.Module):
    """A root mean square norm by hand, as decoders write it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(CHANNELS))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6))


class Block(nn.Module):
    """Two products of a norm's result; a residual sum may read it as well, as in BERT."""

    def __init__(self, norm: nn.Module, *, is_post: bool) -> None:
        super().__init__()
        self.norm, self.is_post = norm, is_post
        self.gate, self.up, self.down = (nn.Linear(CHANNELS, CHANNELS) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        z = self.down(torch.tanh(self.gate(y)) * self.up(y))
        return nn.functional.layer_norm(z + y, (CHANNELS,)) if self.is_post else z


def block(norm: type[nn.Module] | Any = nn.LayerNorm, *, is_post: bool = False, largest: float = 60.0) -> nn.Module:
    """Two channels of the norm are much larger than the others, and their weights smaller, as in trained models."""
    torch.manual_seed(0)
    model = Block(norm() if norm is ScaledNorm else norm(CHANNELS), is_post=is_post).eval()
    with torch.no_grad():
        model.norm.weight[OUTLIERS] = largest  # pyright: ignore
        for layer in (model.gate, model.up):
            layer.weight[:, OUTLIERS] /= largest
    return model


def observed_graph(model: nn.Module, mode: Mode) -> GraphModule:
    module = torch.export.export(model, TEXTS[0]).module()
    assert isinstance(module, GraphModule)
    return prepare_pt2e(module, XnnpackQuantizer(QuantConfig(mode)))


def products(graph: GraphModule) -> int:
    return sum(node.target is torch.ops.aten.mul.Tensor for node in graph.graph.nodes)


before_and_behind = pytest.mark.parametrize(
    ("is_post", "mode"),
    [
        (False, "static"),
        (True, "dynamic"),
        pytest.param(False, "dynamic", marks=pytest.mark.exhaustive),
        pytest.param(True, "static", marks=pytest.mark.exhaustive),
    ],
)
"""A norm before a layer or behind it, in either mode; either of each in `make test`."""


@before_and_behind
@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm, ScaledNorm])
def test_results_stay_to_the_last_bit(norm: type[nn.Module], is_post: bool, mode: Mode) -> None:
    model = block(norm, is_post=is_post)
    before = copy.deepcopy(model.state_dict())
    observed = observed_graph(model, mode)
    count = products(observed)
    assert smooth(observed, TEXTS) == 1
    assert products(observed) == count + is_post, "a norm that nothing else reads takes the factors in"
    scaled = without_observers(observed)
    changed = {name for name, value in observed.named_parameters() if not torch.equal(value, before.get(name, value))}
    assert changed >= {"gate.weight", "up.weight"}
    assert ("norm.weight" in changed) == (not is_post)
    for text in TEXTS:
        with torch.no_grad():
            assert torch.equal(run_alone(scaled, text)[0], model(*text))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@before_and_behind
def test_the_gain(is_post: bool, mode: Mode) -> None:
    model = block(is_post=is_post)
    model.norm.weight.data[OUTLIERS] *= 2  # pyright: ignore

    def gain(*, smoothing: bool) -> float:
        config = QuantConfig(mode, smoothing=smoothing)
        return quality(model, xir.quantize(model, TEXTS[0], TEXTS, config, verify=True), TEXTS)

    assert gain(smoothing=True) > gain(smoothing=False) + 5


@before_and_behind
def test_channels_that_are_alike_stay(is_post: bool, mode: Mode) -> None:
    observed = observed_graph(block(is_post=is_post, largest=1.0), mode)
    assert smooth(observed, TEXTS) == 0


def test_sample_inputs_decide_nothing_in_dynamic_mode() -> None:
    model = block()
    config = QuantConfig("dynamic")
    plain = xir.quantize(model, TEXTS[0], config=QuantConfig("dynamic", smoothing=False))
    given = xir.quantize(model, TEXTS[0], TEXTS, config)
    found = xir.quantize(model, TEXTS[0], config=config)
    assert torch.equal(*outputs(plain, found))
    assert not torch.equal(*outputs(plain, given))


def outputs(*programs: Any) -> list[Tensor]:
    with torch.no_grad():
        return [program.module()(*TEXTS[0]) for program in programs]


def test_weights_of_4_bits_stay() -> None:
    module = torch.export.export(block(is_post=False), TEXTS[0]).module()
    assert isinstance(module, GraphModule)
    assert smooth(prepare_pt2e(module, XnnpackQuantizer(QuantConfig("int4"))), TEXTS) == 0


class Repeated(nn.Module):
    """The same layers several times, as in ALBERT: the first time behind what `before` makes, later behind the norm.

    A residual sum reads what the products read as well.
    """

    def __init__(self, before: nn.Module, *, has_sum: bool = True) -> None:
        super().__init__()
        self.before, self.norm, self.has_sum = before, nn.LayerNorm(CHANNELS), has_sum
        self.up, self.down = (nn.Linear(CHANNELS, CHANNELS) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.before(x)
        for _ in range(2):
            y = self.branch(x)
            x = self.norm(y + x if self.has_sum else y)
        return self.branch(x)

    def branch(self, x: Tensor) -> Tensor:
        return torch.tanh(self.down(torch.tanh(self.up(x))))


def repeated(before: nn.Module, *, has_sum: bool = True) -> Repeated:
    torch.manual_seed(0)
    model = Repeated(before, has_sum=has_sum).eval()
    with torch.no_grad():
        model.norm.weight[OUTLIERS] = 60.0
        model.norm.bias.add_(0.1)
        model.up.weight[:, OUTLIERS] /= 60.0
        for each in before.parameters():
            each.add_(0.1)[OUTLIERS] *= 60.0
    return model


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize(
    ("before", "has_sum", "folded"),
    [
        (nn.LayerNorm(CHANNELS), True, set[str]()),
        (nn.Linear(CHANNELS, CHANNELS), True, {"before.weight", "before.bias"}),
        (nn.Linear(CHANNELS, CHANNELS, bias=False), False, {"before.weight", "norm.weight", "norm.bias"}),
        (nn.LayerNorm(CHANNELS), False, {"before.weight", "before.bias", "norm.weight", "norm.bias"}),
    ],
    ids=["norm", "linear", "linear alone", "norm alone"],
)
def test_a_weight_that_several_layers_have(before: nn.Module, has_sum: bool, folded: set[str], mode: Mode) -> None:
    """One factor for a channel in all of them, which a norm takes in that no residual sum reads."""
    model = repeated(copy.deepcopy(before), has_sum=has_sum)
    exact = copy.deepcopy(model.state_dict())
    observed = observed_graph(model, mode)
    assert smooth(observed, TEXTS) == 3
    changed = {name for name, value in observed.named_parameters() if not torch.equal(value, exact.get(name, value))}
    assert changed == {"up.weight", *folded}
    scaled = without_observers(observed)
    for text in TEXTS:
        with torch.no_grad():
            assert torch.equal(run_alone(scaled, text)[0], model(*text))


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_the_gain_where_layers_share_a_weight(mode: Mode) -> None:
    model = repeated(nn.Linear(CHANNELS, CHANNELS))

    def gain(*, smoothing: bool) -> float:
        config = QuantConfig(mode, smoothing=smoothing)
        return quality(model, xir.quantize(model, TEXTS[0], TEXTS, config, verify=True), TEXTS)

    assert gain(smoothing=True) > gain(smoothing=False) + 5


def test_a_norm_used_in_several_places_takes_the_factors_in_once() -> None:
    """Where products alone read each of its results."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = block()

        def forward(self, x: Tensor) -> Tensor:
            return self.block(self.block(x))

    model = Twice().eval()
    observed = observed_graph(model, "static")
    count = products(observed)
    assert smooth(observed, TEXTS) == 2
    assert products(observed) == count
    with torch.no_grad():
        assert torch.equal(run_alone(without_observers(observed), TEXTS[0])[0], model(*TEXTS[0]))


class Beside(nn.Module):
    """A norm and two products of it, one of whose weights is read once more."""

    def __init__(self, reads: Callable[[Beside, Tensor], Tensor]) -> None:
        super().__init__()
        self.block, self.reads = block(), reads

    def forward(self, x: Tensor) -> Tensor:
        return self.reads(self, self.block(x))


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize(
    "reads",
    [
        lambda model, y: y @ model.block.up.weight,
        lambda model, y: model.block.up(torch.tanh(y)),
        lambda model, y: y + model.block.gate.weight.sum(),
    ],
    ids=["product", "no norm", "sum"],
)
def test_a_weight_that_something_else_reads_stays(reads: Callable[[Beside, Tensor], Tensor], mode: Mode) -> None:
    """And with it what else is quantised with the same integers: one of the norm for both products."""
    assert smooth(observed_graph(Beside(reads).eval(), mode), TEXTS) == 0


def test_wrong_factors_are_told_by_the_layer_where_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    right = smoothing.multiply

    def wrong(observed: GraphModule, value: Any, factors: Tensor, readers: Any) -> None:
        right(observed, value, 2 * factors, readers)

    monkeypatch.setattr(smoothing, "multiply", wrong)
    with pytest.raises(WrongQuantizationError, match="scaling channels changes output 0") as found:
        xir.quantize(block(is_post=True), TEXTS[0], TEXTS, verify=True)
    assert found.value.layer == "linear"


def test_values_that_are_infinite_stay_as_they_are() -> None:
    observed = observed_graph(block(), "dynamic")
    assert smooth(observed, [(torch.full((2, 12, CHANNELS), torch.inf),)]) == 0


class Net(nn.Module):
    """What a function makes of named layers and parameters."""

    def __init__(self, computes: Callable[[Any, Tensor], Tensor], **parts: nn.Module | nn.Parameter) -> None:
        super().__init__()
        self.computes = computes
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x: Tensor) -> Tensor:
        return self.computes(self, x)


def scales(**at: float) -> nn.Parameter:
    """A norm's weight, the channels `cN` much larger than the others."""
    found = torch.rand(CHANNELS, generator=torch.Generator().manual_seed(0)) + 0.5
    for name, factor in at.items():
        found[int(name[1:])] *= factor
    return nn.Parameter(found)


def layer(seed: int = 0, **at: float) -> nn.Linear:
    """A layer whose weights differ by the input `cN`."""
    torch.manual_seed(seed)
    found = nn.Linear(CHANNELS, CHANNELS)
    with torch.no_grad():
        for name, factor in at.items():
            found.weight[:, int(name[1:])] *= factor
    return found


def normed(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return nn.functional.layer_norm(x, (CHANNELS,), weight, bias)


def check(model: nn.Module, norms: int, mode: Mode = "static", texts: Any = TEXTS) -> GraphModule:
    """So many norms are scaled, and the results stay to the last bit."""
    observed = observed_graph(model.eval(), mode)
    assert smooth(observed, texts) == norms
    with torch.no_grad():
        for text in texts:
            assert torch.equal(run_alone(without_observers(observed), text)[0], model(*text))
    return observed


def factors(observed: GraphModule, model: nn.Module, name: str) -> Tensor:
    """What the inputs of a layer's weight were multiplied by, of the usual one [channels]."""
    found = observed.get_parameter(name) / model.get_parameter(name)
    assert torch.equal(found, found[:1].expand_as(found))
    return found[0] / found[0].median()


def test_factors_are_of_all_places_and_weights() -> None:
    """Of the largest that any norm reaches, and any weight is, in the group."""
    model = Net(
        lambda m, x: m.a(normed(x, m.first)) + m.a(normed(x.square(), m.second)) + m.b(normed(x.exp(), m.third)),
        first=scales(c3=60), second=scales(c17=60), third=scales(c3=60, c17=60), a=layer(c3=1 / 60),
        b=layer(1, c3=1 / 60, c9=40, c17=1 / 60),
    )  # fmt: skip
    found = factors(check(model, 3), model, "a.weight")
    assert (found[[3, 17]] >= 2).all()
    model = Net(
        lambda m, x: m.a(y := normed(x, m.first)) + m.b(y),
        first=scales(c3=60, c17=60), a=layer(c3=1 / 60, c17=1 / 60, c5=40), b=layer(1, c3=1 / 60, c17=1 / 60, c9=40),
    )  # fmt: skip
    found = factors(check(model, 1), model, "a.weight")
    assert (found[[5, 9]] <= 0.5).all()
    assert (found[[3, 17]] >= 2).all()


def test_factors_are_of_all_inputs_and_not_of_channels_that_are_zero() -> None:
    model = Net(
        lambda m, x: m.a(nn.functional.rms_norm(x, (CHANNELS,), m.first)),
        first=scales(c3=60, c17=60, c8=0), a=layer(c3=1 / 60, c17=1 / 60),
    )  # fmt: skip
    texts = [(text.clone(),) for (text,) in TEXTS]
    for (text,) in texts[1:]:
        text[..., 3] = 0
    observed = check(model, 1, texts=texts)
    assert (factors(observed, model, "a.weight")[[3, 17]] >= 2).all()
    weights = [each.get_parameter("a.weight")[:, 8] for each in (observed, model)]
    assert torch.equal(*weights)


def test_groups_that_one_norm_joins() -> None:
    """Two weights, each with a norm of its own, and a norm that both read."""
    model = Net(
        lambda m, x: (
            m.a(normed(x, m.first)) + m.b(normed(x.square(), m.second))
            + m.a(y := normed(x.exp(), m.third)) + m.b(y)
        ),
        first=scales(c3=60), second=scales(c3=50), third=scales(c3=40), a=layer(c3=1 / 60), b=layer(1, c3=1 / 60),
    )  # fmt: skip
    observed = check(model, 3)
    assert torch.equal(factors(observed, model, "a.weight"), factors(observed, model, "b.weight"))


def test_norms_that_share_parameters_with_one_that_is_read_elsewhere() -> None:
    """The second norm shares its bias with the third, which a sum reads, and its weight with the first."""
    model = Net(
        lambda m, x: (
            m.a(normed(x, m.first, m.shift)) + m.a(normed(x.square(), m.first, m.other))
            + m.a(y := normed(x.exp(), m.second, m.other)) + y
        ),
        first=scales(c3=60), second=scales(c3=60), shift=scales(c3=60), other=scales(c3=60), a=layer(c3=1 / 60),
    )  # fmt: skip
    count = products(observed_graph(model.eval(), "static"))
    assert products(check(model, 3)) == count + 3


def test_a_norm_whose_bias_is_computed() -> None:
    model = Net(
        lambda m, x: m.a(normed(x, m.first, m.shift.exp())), first=scales(c3=60), shift=scales(), a=layer(c3=1 / 60)
    )
    check(model, 1)


def test_layers_alone_are_no_norms() -> None:
    """A linear layer takes factors in where a norm has to; and not where integers read its result as well."""
    before, a = layer(1), layer(c3=1 / 60)
    with torch.no_grad():
        before.weight[3] *= 60
    check(Net(lambda m, x: m.a(m.before(x)), before=before, a=a), 0)
    model = Net(
        lambda m, x: m.a(y := m.before(x)) + m.a(normed(x, m.first)) + m.side(torch.tanh(y)),
        before=before, first=scales(c3=60), a=a, side=layer(2),
    )  # fmt: skip
    check(model, 0)


def test_a_bias_that_something_else_reads_stays() -> None:
    """And the layer with it, whose result other products read that share a weight with those of a norm."""
    model = Net(
        lambda m, x: m.a(m.before(x)) + m.a(normed(x, m.first)) + m.before.bias,
        before=layer(1), first=scales(c3=60), a=layer(c3=1 / 60),
    )  # fmt: skip
    check(model, 0)


def test_vectors_have_their_own_scales_in_dynamic_mode() -> None:
    """A channel that is large in some vectors alone costs the others nothing there, but everything in static mode."""
    model = Net(lambda m, x: m.a(normed(x, m.first)), first=nn.Parameter(torch.ones(CHANNELS)), a=layer())
    texts = [(text.clone(),) for (text,) in TEXTS]
    for (text,) in texts:
        text[:, :2, 3] *= 400
    check(model, 1, "static", texts)
    check(model, 0, "dynamic", texts)
