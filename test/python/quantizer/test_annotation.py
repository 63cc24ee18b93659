"""What the quantizer annotates: the table's ops, by their kind, and nothing that would gain nothing."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import observed_graph
from reference.modules import Calling
from torch import Tensor, nn
from torch.fx import Graph, GraphModule, Node
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e
from torchao.quantization.pt2e.quantizer import SharedQuantizationSpec
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from xir.dialects import edge
from xir.quantizer import QuantConfig, XnnpackQuantizer
from xir.quantizer.operators import CLAMPS, STEEP, Operators
from xir.transforms.xnnpack.legalizations import RULES, Quantized

r = torch.randn


def annotate(module: nn.Module, *inputs: Tensor, config: QuantConfig | XnnpackQuantizer | None = None) -> GraphModule:
    """The module's graph as `prepare_pt2e` has the quantizer annotate it."""
    quantizer = config if isinstance(config, XnnpackQuantizer) else XnnpackQuantizer(config or QuantConfig())
    exported = torch.export.export(module.eval(), inputs).module()
    assert isinstance(exported, GraphModule)
    return quantizer.annotate(quantizer.transform_for_annotation(exported))


def annotated(module: nn.Module, *inputs: Tensor, config: QuantConfig | XnnpackQuantizer | None = None) -> list[str]:
    """The names of the nodes that are annotated."""
    graph = annotate(module, *inputs, config=config).graph
    return [node.name for node in graph.nodes if Q_ANNOTATION_KEY in node.meta]


def converted(module: nn.Module, *inputs: Tensor, config: QuantConfig | None = None) -> GraphModule:
    """The module's graph after calibration with `inputs` and conversion."""
    observed = observed_graph(module, inputs, config)
    observed(*inputs)
    return convert_pt2e(observed)


def node_of(graph: Graph, name: str) -> Node:
    return next(node for node in graph.nodes if node.name == name)


def parameters_of(value: Any) -> tuple[float, int]:
    """Scale and zero point of a quantise or dequantise node."""
    assert "quantize_per_tensor" in str(value.target)
    return value.args[1], value.args[2]


# The table


def torch_overload(name: str) -> Any:
    schema = edge.OPS[name].row.schema
    packet = getattr(getattr(torch.ops, schema.namespace), schema.name)
    return getattr(packet, schema.overload or "default")


def test_operators_play_the_parts_that_the_table_gives_them() -> None:
    for name, info in RULES.items():
        if not info.quantized:
            continue
        graph = Graph()
        placeholder = graph.placeholder("x")
        arguments: dict[str, Any] = {
            argument.name: [placeholder] if argument.type.is_list else placeholder
            for argument in edge.OPS[name].row.schema.tensors.values()
        }
        node = graph.call_function(torch_overload(name), (), arguments)
        operators = Operators()
        assert (operators.name(node), operators.kind(node)) == (name, info.quantized)


def test_exceptions_are_of_the_table() -> None:
    assert {name for name in STEEP | CLAMPS if RULES[name].quantized is not Quantized.TABLE} == set()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.flatten(1),
        lambda x: x.reshape(2, -1),
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.swapaxes(1, 2),
        lambda x: nn.functional.pad(x, (1, 1)),
    ],
)
def test_composite_operators_are_what_their_parts_are(function: Callable[[Tensor], Tensor]) -> None:
    graph = torch.export.export(Calling(lambda _, x: function(x)), (r(2, 4, 4),)).graph
    node = next(node for node in graph.nodes if node.op == "call_function")
    assert Operators().kind(node) is Quantized.MOVES


# One operation of several nodes

SUM, RELU = Calling(lambda _, x, y: torch.relu(x + y)), {"conv2d": False, "relu": True}


@pytest.mark.parametrize(
    ("module", "inputs", "quantized"),
    [
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (r(1, 3, 8, 8),), RELU),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True)), (r(1, 3, 8, 8),), {"conv2d": False, "relu_": True}),
        *(
            (nn.Sequential(nn.Conv2d(3, 4, 3), clamp), (r(1, 3, 8, 8),), {"conv2d": False, "hardtanh": True})
            for clamp in (nn.ReLU6(), nn.Hardtanh(-1, 1))
        ),
        (SUM, (r(4), r(4)), {"add": False, "relu": True}),
        # What is read elsewhere has numbers of its own.
        (
            Calling(lambda m, x: torch.relu(y := m.conv(x)) + y, conv=nn.Conv2d(3, 4, 3)),
            (r(1, 3, 8, 8),),
            {"conv2d": True},
        ),
    ],
)
def test_a_clamp_is_part_of_what_it_clamps(
    module: nn.Module, inputs: tuple[Tensor, ...], quantized: dict[str, bool]
) -> None:
    graph = annotate(module, *inputs).graph
    found = {name: node_of(graph, name).meta[Q_ANNOTATION_KEY].output_qspec is not None for name in quantized}
    assert found == quantized


# Parameters


def test_moved_data_keeps_its_parameters() -> None:
    def forward(m: Any, x: Tensor) -> Tensor:
        y, z = m.a(x), torch.relu(m.b(x)) * 5
        return m.c(nn.functional.max_pool2d(torch.cat([y, z], 1), 2).permute(0, 1, 3, 2))

    module = Calling(forward, a=nn.Conv2d(3, 4, 3), b=nn.Conv2d(3, 4, 3), c=nn.Conv2d(8, 2, 1))
    graph = converted(module, r(1, 3, 10, 10)).graph
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
    sources = {node.all_input_nodes[0].name: parameters_of(node) for node in graph.nodes if node.target is quantize}
    assert len({sources[name] for name in ("conv2d", "mul", "cat", "max_pool2d", "permute")}) == 1
    assert sources["conv2d_2"] != sources["cat"]


def test_parts_of_a_split_share_parameters() -> None:
    def forward(m: Any, x: Tensor) -> Tensor:
        y, z = m.a(x).split(2, 1)
        return m.b(torch.cat([z, y], 1))

    graph = converted(Calling(forward, a=nn.Conv2d(3, 4, 1), b=nn.Conv2d(4, 2, 1)), r(1, 3, 4, 4)).graph
    parts = [node for node in graph.nodes if node.target is operator.getitem]
    assert len({parameters_of(next(iter(part.users))) for part in parts}) == 1


def test_parts_of_a_float_split_are_quantized_behind_it() -> None:
    """Though one part gets to integers alone: the split is one op, and another part is for float ops."""

    def forward(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        y, z = m.norm(x).chunk(2, 1)
        return m.a(y), torch.special.erfcx(z)

    graph = converted(Calling(forward, norm=nn.LayerNorm(4), a=nn.Linear(4, 3)), r(1, 6, 4)).graph
    users = [next(iter(node.users)).target for node in graph.nodes if node.target is operator.getitem]
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
    assert users == [quantize, torch.ops.aten.special_erfcx.default]


def test_weights_are_symmetric_by_output_channel() -> None:
    module = Calling(lambda m, x: m.b(m.a(x)), a=nn.Conv2d(4, 8, 3), b=nn.ConvTranspose2d(8, 6, 3))
    graph = converted(module, r(1, 4, 8, 8)).graph
    dequantize = torch.ops.quantized_decomposed.dequantize_per_channel.default
    nodes = [node for node in graph.nodes if node.target is dequantize]
    assert [node.args[3:6] for node in nodes if node.args[6] is torch.int8] == [(0, -127, 127), (1, -127, 127)]


@pytest.mark.parametrize("per_channel", [True, False])
def test_a_bias_has_32_bits_and_the_scale_of_the_sums(per_channel: bool) -> None:
    """By output channel also behind a weight whose channels are another dimension."""
    layers = {"a": nn.Conv2d(4, 8, 3), "b": nn.ConvTranspose2d(8, 6, 3), "c": nn.Linear(6, 5)}
    module = Calling(lambda m, x: m.c(m.b(m.a(x)).mean((2, 3))), **layers)
    graph_module = converted(module, r(1, 4, 8, 8), config=QuantConfig(per_channel=per_channel))
    for name, layer in zip(("conv2d", "conv_transpose2d", "linear"), layers.values(), strict=True):
        operands = [each.args[:2] for each in node_of(graph_module.graph, name).args[:3] if isinstance(each, Node)]
        (_, step), (_, weight_step), (integers, bias_step) = [
            [constant(graph_module, argument) for argument in operand] for operand in operands
        ]
        assert integers.dtype is torch.int32
        torch.testing.assert_close(bias_step, step * weight_step)
        assert layer.bias is not None
        # The quotient that is rounded has an error of its own in fp32, of a reciprocal and a product.
        rounded = (layer.bias.double() / bias_step.double() - integers.double()).abs()
        assert (rounded <= 0.5 + integers.abs() * 2.0**-23).all()


def constant(module: GraphModule, argument: Any) -> Tensor:
    """An argument that is a number or a constant of the module; NaN for a value."""
    if isinstance(argument, Node):
        return (
            operator.attrgetter(str(argument.target))(module) if argument.op == "get_attr" else torch.tensor(torch.nan)
        )
    return torch.tensor(argument)


@pytest.mark.parametrize("inplace", [False, True])
def test_silu_is_a_product_with_a_quantized_sigmoid(inplace: bool) -> None:
    module = Calling(lambda m, x: m.b(m.act(m.a(x))), a=nn.Linear(4, 4), act=nn.SiLU(inplace), b=nn.Linear(4, 4))
    graph = converted(module, r(5, 4)).graph
    sigmoid, product = node_of(graph, "sigmoid"), node_of(graph, "mul")
    assert parameters_of(next(iter(sigmoid.users)))[0] < 1 / 254
    assert "quantize_per_tensor" in str(next(iter(product.users)).target)
    assert not any("silu" in str(node.target) for node in graph.nodes)


def test_groups_of_a_transposed_convolution_share_a_scale() -> None:
    """A channel of its weight is one of each group."""
    graph = converted(nn.ConvTranspose2d(4, 4, 3, groups=2), r(1, 4, 8, 8)).graph
    assert not any("per_channel" in str(node.target) for node in graph.nodes)


def test_multiplying_by_a_positive_number_is_exact() -> None:
    module = Calling(lambda m, x: m.b(m.a(x) * 0.3), a=nn.Linear(4, 4), b=nn.Linear(4, 4))
    graph = converted(module, r(5, 4)).graph
    product = node_of(graph, "mul")
    before, after = parameters_of(product.args[0]), parameters_of(next(iter(product.users)))
    assert after[0] == pytest.approx(before[0] * 0.3)
    assert after[1] == before[1]


@pytest.mark.parametrize("factor", [1e-39, 1e30, 3e38])
def test_a_scale_and_its_reciprocal_stay_normal_numbers(factor: float) -> None:
    program = converted(Calling(lambda m, x: torch.relu(x) * factor), r(2, 3))
    scales = {parameters_of(node)[0] for node in program.graph.nodes if "quantize_per_tensor" in str(node)}
    assert len(scales) >= 1
    assert all(2.0**-126 <= scale <= 2.0**126 for scale in scales)
    assert torch.equal(program(torch.zeros(2, 3)), torch.zeros(2, 3))


def test_the_second_matrix_of_a_product_has_the_zero_point_0() -> None:
    """Also the linear layer that all three come from, or there would be a conversion between them."""

    def forward(m: Any, x: Tensor) -> Tensor:
        q, k, v = m.qkv(x).view(2, 5, 3, 8).unbind(2)
        return m.out(nn.functional.scaled_dot_product_attention(q, k, v))

    graph = converted(Calling(forward, qkv=nn.Linear(8, 24), out=nn.Linear(8, 8)), r(2, 5, 8)).graph
    products = [node for node in graph.nodes if node.target is torch.ops.aten.bmm.default]
    assert len(products) == 2
    for product in products:
        assert parameters_of(product.args[1])[1] == 0
    assert parameters_of(next(iter(node_of(graph, "linear").users)))[1] == 0
    softmax = next(node for node in graph.nodes if "softmax" in str(node.target))
    assert parameters_of(next(iter(softmax.users)))[1] == -128


def test_sharing_refers_to_an_annotated_operand() -> None:
    graph = annotate(Calling(lambda m, x: m.a(x.view(2, 4)), a=nn.Linear(4, 4)), r(8)).graph
    view = node_of(graph, "view")
    spec = view.meta[Q_ANNOTATION_KEY].output_qspec
    assert isinstance(spec, SharedQuantizationSpec)
    assert spec.edge_or_node == (view.args[0], view)


# What follows its neighbours


def residual(m: Any, x: Tensor) -> Tensor:
    """A transformer's block: the sums are read by layer norms and each other."""
    return m.after(x + m.second(nn.functional.gelu(m.first(m.before(x)))))


def squeeze_and_excitation(m: Any, x: Tensor) -> Tensor:
    y = m.a(x)
    return m.b(y * nn.functional.hardsigmoid(m.c(y.mean((2, 3), keepdim=True))))


def norm_by_hand(m: Any, x: Tensor) -> Tensor:
    y = m.a(x)
    return m.b(y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5))


def with_token(m: Any, x: Tensor) -> Tensor:
    """A class token that is small is joined in float to patches that a convolution computed on integers."""
    return m.norm(torch.cat([m.token, m.conv(x).flatten(2).transpose(1, 2)], 1))


def points() -> dict[str, nn.Module]:
    return {name: nn.Conv2d(4, 4, 1) for name in "abc"}


NORMS = {"before": nn.LayerNorm(8), "after": nn.LayerNorm(8)}
MASK = torch.tensor([0.0, 0.0, 0.0, float("-inf")])
TOKEN = nn.Parameter(torch.full((1, 1, 8), 0.01))
ANNOTATED: dict[str, tuple[nn.Module, tuple[Tensor, ...], str]] = {
    "padding to the same size": (nn.Conv2d(3, 4, 3, padding="same"), (r(1, 3, 8, 8),), "conv2d"),
    "the residual stream of a transformer stays float": (
        Calling(residual, **NORMS, first=nn.Linear(8, 16), second=nn.Linear(16, 8)),
        (r(3, 8),),
        "linear gelu linear_1",
    ),
    "the residual stream of a convolutional network does not": (
        Calling(lambda m, x: m.c((y := m.a(x)) + m.b(y)), **points()),
        (r(1, 4, 4, 4),),
        "conv2d conv2d_1 add conv2d_2",
    ),
    "squeeze and excitation is whole": (
        Calling(squeeze_and_excitation, **points()),
        (r(1, 4, 4, 4),),
        "conv2d mean conv2d_1 hardsigmoid mul conv2d_2",
    ),
    "a sum of nothing but inputs is integer": (Calling(lambda _, x, y: x + y), (r(4), r(4)), "add"),
    "a norm by hand stays float": (
        Calling(norm_by_hand, a=nn.Linear(8, 8), b=nn.Linear(8, 8)),
        (r(3, 8),),
        "linear linear_1",
    ),
    "masks and integers stay what they are": (
        Calling(lambda m, x, n: (m.linear(x) + m.mask, n + n), linear=nn.Linear(4, 4), mask=MASK),
        (r(2, 4), torch.ones(3, dtype=torch.int64)),
        "linear",
    ),
    "one token that is small keeps its bits": (
        Calling(with_token, conv=nn.Conv2d(3, 8, 4, stride=4), norm=nn.LayerNorm(8), token=TOKEN),
        (r(1, 3, 8, 8),),
        "conv2d flatten transpose",
    ),
}


@pytest.mark.parametrize("name", ANNOTATED)
def test_what_is_annotated(name: str) -> None:
    module, inputs, names = ANNOTATED[name]
    assert annotated(module, *inputs) == names.split()


# Configurations


def test_dynamic_quantization_is_of_products_with_weights() -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, groups=8), nn.ReLU(), nn.Flatten(), nn.Linear(8, 4))
    assert annotated(module, r(1, 3, 5, 5), config=QuantConfig("dynamic")) == ["conv2d", "linear"]
    graph = converted(module, r(1, 3, 5, 5), config=QuantConfig("dynamic")).graph
    targets = [str(node.target) for node in graph.nodes]
    assert sum("choose_qparams_per_token" in target for target in targets) == 1
    assert sum("choose_qparams.tensor" in target for target in targets) == 1


@pytest.mark.parametrize(("group_size", "expected"), [(32, (8, 2)), (64, (8, 1)), (None, (8,))])
def test_fine_weights(group_size: int | None, expected: tuple[int, ...]) -> None:
    module = nn.Linear(64, 8)
    result = converted(module, r(3, 64), config=QuantConfig("int4", group_size=group_size))
    weight = next(node for node in result.graph.nodes if "dequantize_per_channel" in str(node.target))
    integers, scales = (getattr(result, str(weight.args[i].target)) for i in range(2))
    assert scales.shape == expected
    assert integers.dtype == torch.int8
    assert (int(integers.min()) >= -8, int(integers.max()) <= 7) == (True, True)
    error = (result(x := r(3, 64)) - module(x)).norm() / module(x).norm()
    assert error < 0.12


ON = QuantConfig()


def block(quantizer: XnnpackQuantizer) -> list[str]:
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Hardswish(), nn.Sequential(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 2, 1)))
    return annotated(module, r(1, 3, 4, 4), config=quantizer)


@pytest.mark.parametrize(
    ("quantizer", "names"),
    [
        (XnnpackQuantizer(), "conv2d hardswish conv2d_1 conv2d_2"),
        (XnnpackQuantizer(None), ""),
        (XnnpackQuantizer().set_module_name("2", None), "conv2d"),
        (XnnpackQuantizer().set_module_name("2", None).set_module_name("2.0", ON), "conv2d hardswish conv2d_1"),
        (XnnpackQuantizer().set_module_type(nn.Hardswish, None), "conv2d conv2d_1 conv2d_2"),
        (XnnpackQuantizer(None).set_operator_type(torch.ops.aten.conv2d, ON), "conv2d conv2d_1 conv2d_2"),
        (XnnpackQuantizer(None).set_module_name("0", ON).set_operator_type(torch.ops.aten.conv2d, None), "conv2d"),
    ],
)
def test_settings_by_place_type_and_operator(quantizer: XnnpackQuantizer, names: str) -> None:
    assert block(quantizer) == names.split()


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("2.*", "conv2d"),
        ("2", "conv2d"),
        ("conv2d_1", "conv2d conv2d_2"),
        ("aten.hardswish", "conv2d conv2d_1 conv2d_2"),
    ],
)
def test_patterns_of_layers_to_keep(pattern: str, left: str) -> None:
    quantizer = XnnpackQuantizer(QuantConfig(keep_float=(pattern, "nowhere.*")))
    assert block(quantizer) == left.split()
    assert quantizer.unmatched() == ["nowhere.*"]


def test_steep_functions_are_integer_when_asked_for() -> None:
    module = Calling(lambda m, x: m.b(torch.exp(m.a(x))), a=nn.Linear(4, 4), b=nn.Linear(4, 4))
    assert "exp" not in annotated(module, r(2, 4))
    quantizer = XnnpackQuantizer().set_operator_type(torch.ops.aten.exp, QuantConfig())
    assert "exp" in annotated(module, r(2, 4), config=quantizer)
