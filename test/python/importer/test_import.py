"""Importing exported programs: what a module means in torch is what its edge form means."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.nn.functional import embedding_bag
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ArrayAttr, DenseResourceAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.importer import decompose, import_exported_program, import_pt2, steps
from xir.importer.interpreter import run_module
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import find_file_location, find_name
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text
from xir.ir.verifier import verify

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def imported(
    model: torch.nn.Module | Callable[..., Any], inputs: tuple[Any, ...], ctx: XirContext | None = None, **options: Any
) -> ModuleOp:
    if not isinstance(model, torch.nn.Module):
        model = Function(model)
    module = import_exported_program(torch.export.export(model, inputs, **options), ctx or XirContext())
    verify(module)
    return module


def check(model: torch.nn.Module | Callable[..., Any], *inputs: Any, **options: Any) -> ModuleOp:
    """Import, go through text and back, run, and compare with eager."""
    torch.manual_seed(0)
    ctx = XirContext()
    module = imported(model, inputs, ctx, **options)
    text = module_to_text(module)
    again = parse_module(ctx, text)
    assert module_to_text(again) == text
    leaves = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, Tensor)]
    actual = run_module(again, ctx, [leaf.clone() for leaf in leaves])
    with torch.no_grad():
        expected = pytree.tree_leaves(model(*inputs))
    for wanted, got in zip(expected, actual, strict=True):
        torch.testing.assert_close(got, wanted)
    return module


def names(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("edge.") for op in module.walk() if isinstance(op, edge.EdgeOp)]


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def rejected(model: torch.nn.Module | Callable[..., Any], *inputs: Any, **options: Any) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        imported(model, inputs, **options)
    return caught.value


X = torch.rand(2, 3) + 0.5
IMAGE = torch.rand(1, 4, 8, 8)


# Inputs, outputs and constants


class Stateful(torch.nn.Module):
    offset: Tensor
    scratch: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(3, 3))
        self.register_buffer("offset", torch.rand(3))
        self.register_buffer("scratch", torch.rand(3), persistent=False)
        self.unused = torch.nn.Parameter(torch.rand(5))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.offset * self.scratch + torch.tensor([1.0, 2.0, 3.0])


def test_parameters_buffers_and_lifted_constants() -> None:
    module = check(Stateful(), X)
    constants = [op for op in module.walk() if isinstance(op, edge.ConstantOp)]
    assert [op.resource for op in constants][:3] == ["weight", "offset", "scratch"]
    assert len(constants) == 4, "what is not used is not imported"


def test_weights_are_not_copied() -> None:
    model, ctx = Stateful(), XirContext()
    imported(model, (X,), ctx)
    assert ctx.blobs.get("weight").ctypes.data == model.weight.data_ptr()


def test_weights_outlive_the_program() -> None:
    ctx = XirContext()
    module = imported(Stateful(), (X,), ctx)
    run_module(module, ctx, [X])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_element_types_of_weights(dtype: torch.dtype) -> None:
    check(torch.nn.Linear(3, 4).to(dtype), X.to(dtype))


def test_strided_weights() -> None:
    model = torch.nn.Conv2d(4, 4, 3)
    model.weight.data = model.weight.data.to(memory_format=torch.channels_last)
    ctx = XirContext()
    module = imported(model, (IMAGE,), ctx)
    assert not ctx.blobs.get("weight").flags.c_contiguous
    np.testing.assert_allclose(run_module(module, ctx, [IMAGE])[0], model(IMAGE).detach(), rtol=1e-5, atol=1e-6)


def test_tied_weights() -> None:
    first, second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    second.weight = first.weight
    check(torch.nn.Sequential(first, second), X)


def test_nested_inputs_and_outputs() -> None:
    module = check(lambda x, pair: {"sum": x + pair[0], "rest": [pair[1]["y"] * 2, x]}, X, (X, {"y": X}))
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert [a.name_hint for a in func.body.block.args]
    assert str(func.attributes["xir.in_spec"]) == "\"T2#3#0(T2#1#2($,T2#1#1($,D1#1('y':$))),D0())\""
    assert str(func.attributes["xir.out_spec"]) == "\"D2#1#2('sum':$,'rest':L2#1#1($,$))\""


def test_unused_input_keeps_its_place() -> None:
    module = check(lambda x, y: y + 1, X, torch.rand(4))
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert len(func.body.block.args) == 2


def test_output_that_is_an_input_or_a_constant() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.rand(3))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor, None]:
            return x, self.weight, None

    check(Model(), X)


def test_numbers_as_outputs() -> None:
    module = check(lambda x: (x + 1, 3, True, {"rate": -0.0, "again": 3}), X)
    assert names(module).count("_local_scalar_dense") == 4


def test_constant_output_is_refused() -> None:
    said = str(rejected(lambda x: (x + 1, "three"), X))
    assert "output #1 is the constant 'three': return tensors, numbers and None only" in said
    assert "output #1 is the constant 1180591620717411303424, which has more" in str(rejected(lambda x: (x, 2**70), X))


def windows(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """`unfold` in Python that counts an open size, and so makes windows of the example's alone."""
    starts = range(0, self.shape[dimension] - size + 1, step)
    return torch.stack([self.narrow(dimension, start, size) for start in starts])


def windows_of_short(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """`unfold` that chooses by an open size, and so does what the example needs for all."""
    return self.new_zeros(1, size) if self.shape[dimension] < 8 else self.new_ones(1, size)


def windows_of_double(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """`unfold` that makes a number of what follows from an open size."""
    return self.new_zeros(int(self.shape[dimension] * 0.5), size)


@pytest.mark.parametrize("in_python", [windows, windows_of_short, windows_of_double])
def test_what_is_true_of_the_example_alone(monkeypatch: pytest.MonkeyPatch, in_python: Callable[..., Tensor]) -> None:
    """torch says nothing of it behind an export: another form is taken, the operator stays whole, or is refused."""
    monkeypatch.setitem(decompose._table(), torch.ops.aten.unfold.default, in_python)  # pyright: ignore[reportPrivateUsage]
    shapes: Any = {"dynamic_shapes": (({0: Dim("n", min=3, max=9)},),)}
    assert "as_strided" in names(imported(lambda x: x.unfold(0, 2, 1), (torch.rand(7),), **shapes))
    monkeypatch.delitem(decompose.decomposition_table, torch.ops.aten.unfold.default)
    assert "opaque" in names(imported(lambda x: x.unfold(0, 2, 1), (torch.rand(7),), **shapes))
    monkeypatch.setattr(steps, "is_composite", lambda target: True)  # pyright: ignore[reportUnknownLambdaType]
    said = str(rejected(lambda x: x.unfold(0, 2, 1), torch.rand(7), **shapes))
    assert "unfold.default has no form for all of its open sizes: torch's own takes them to have" in said


@pytest.mark.parametrize(
    "function",
    [lambda x: x.bool().chunk(2, 1)[-1], lambda x: torch.einsum("...i,...i->...", x, x)],
    ids=["halves", "products of rows"],
)
def test_what_is_true_of_each_of_few_sizes(function: Callable[[Tensor], Tensor]) -> None:
    """torch knows ranges of sizes, and not that none of them is half of itself."""
    shapes: Any = {"dynamic_shapes": (({0: Dim.AUTO(max=9), 1: Dim.AUTO(max=9)},),)}  # pyright: ignore[reportCallIssue]
    ctx = XirContext()
    module = imported(function, (torch.rand(5, 4, 3),), ctx, **shapes)
    for sizes in product(range(2, 10), repeat=2):
        x = torch.randn(*sizes, 3)
        torch.testing.assert_close(run_module(module, ctx, [x])[0], function(x))


def test_arithmetic_that_only_an_assertion_uses() -> None:
    """It need not have a form, as the choice between two sizes has none."""

    def checked(x: Tensor) -> Tensor:
        size = torch.sym_ite(x.shape[0] > 3, x.shape[0], 2 * x.shape[0])
        torch.ops.aten._assert_scalar(size + 1 > 1, "so large")
        return x + 1

    shapes: Any = {"dynamic_shapes": (({0: Dim("n", min=2, max=9)},),)}
    assert names(imported(checked, (torch.rand(7),), **shapes)) == ["sym_size.int", "add.Scalar"]


# Operators


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * 2 + 1, ["mul.Scalar", "add.Scalar"]),
        (lambda x: 1 - x, ["rsub.Scalar"]),
        (lambda x: x.flatten(), ["view"]),
        (lambda x: x.reshape(3, 2), ["view"]),
        (lambda x: torch.softmax(x, -1), ["_softmax"]),
        (lambda x: x.half().float(), ["_to_copy", "_to_copy"]),
        (lambda x: torch.nn.functional.relu6(x), ["hardtanh"]),
        (lambda x: torch.nn.functional.selu(x), ["elu"]),
        (lambda x: x.chunk(3, 1)[1], ["split.Tensor"]),
        (lambda x: x.max(1)[1], ["max.dim"]),
        (lambda x: torch.where(x > 0.7, x, 0.0), ["gt.Scalar", "scalar_tensor", "where.self"]),
        (lambda x: x[:, None, 1:], ["unsqueeze", "slice.Tensor"]),
        (lambda x: torch.erfinv(x / 2), ["div.Scalar", "opaque"]),
    ],
)
def test_operators_that_stay_or_decompose(function: Callable[..., Any], expected: list[str]) -> None:
    assert names(check(function, X)) == expected


@pytest.mark.parametrize(
    "model",
    [
        torch.nn.Conv2d(4, 6, 3, stride=2, padding=1),
        torch.nn.Conv2d(4, 6, 3, padding="same"),
        torch.nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.GroupNorm(2, 4),
        torch.nn.InstanceNorm2d(4, affine=True),
        torch.nn.LayerNorm([4, 8, 8]),
        torch.nn.PReLU(4),
        torch.nn.Hardswish(),
        torch.nn.Hardsigmoid(),
        torch.nn.GELU("tanh"),
        torch.nn.Sequential(torch.nn.BatchNorm2d(4), torch.nn.SiLU(inplace=True)),
        torch.nn.Dropout(0.5),
        torch.nn.MaxPool2d(2),
        torch.nn.AdaptiveAvgPool2d((3, 5)),
        torch.nn.Upsample(scale_factor=2, mode="bilinear"),
        torch.nn.PixelShuffle(2),
        torch.nn.Softmax2d(),
        torch.nn.ReflectionPad2d(2),
        torch.nn.LocalResponseNorm(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_layers(model: torch.nn.Module) -> None:
    module = check(model.eval(), IMAGE)
    assert "opaque" not in names(module)


def test_attention() -> None:
    sequence = torch.rand(2, 5, 8)
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    module = check(encoder, sequence)
    assert "opaque" not in names(module)


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN], ids=lambda layer: layer.__name__)
def test_recurrent_layers_become_matrix_products(layer: type[torch.nn.Module]) -> None:
    """torch's own decompositions write in place, or call mkldnn where it is there."""
    before = torch._C._get_mkldnn_enabled()
    module = check(layer(8, 4, num_layers=2, bidirectional=True).eval(), torch.rand(3, 2, 8))
    assert "opaque" not in names(module)
    assert torch._C._get_mkldnn_enabled() == before


def test_custom_operator() -> None:
    with torch.library._scoped_library("xir_test", "FRAGMENT") as library:
        library.define("twice(Tensor x, float by=2.0, *, int[]? dims=None) -> Tensor")
        library.impl("twice", lambda x, by=2.0, *, dims=None: x * by, "CPU")
        library.impl("twice", lambda x, by=2.0, *, dims=None: torch.empty_like(x), "Meta")
        module = check(lambda x: torch.ops.xir_test.twice(x, 3.0, dims=[1]), X)
    (op,) = [op for op in module.walk() if isinstance(op, edge.OpaqueOp)]
    assert op.schema.qualified_name == "xir_test::twice"
    assert op.argument("by") == 3.0
    assert op.argument("dims") == (1,)


def test_opaque_op_names_its_kernel() -> None:
    (op,) = [op for op in imported(torch.erfinv, (X,)).walk() if isinstance(op, edge.OpaqueOp)]
    assert op.out_kernel == "aten::erfinv.out"


def test_choices_between_numbers() -> None:
    """torch's decomposition keeps the numbers in an operator of its own where sizes are dynamic."""

    def mask(ids: Tensor) -> Tensor:
        return torch.where((ids != 1)[:, None] & (ids > 0), 0.0, -1e4) + torch.where(ids > 2, ids, 2)

    module = check(mask, torch.arange(7), dynamic_shapes=((({0: Dim("n", max=64)},),)))
    assert "opaque" not in names(module)


def test_out_variant_is_none_that_changes_an_operand() -> None:
    """`_native_batch_norm_legit` takes what `.no_stats` takes, and running statistics, which it changes."""
    program = imported(
        lambda x: torch.ops.aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.5, 1e-5),
        (torch.randn(1, 2, 3),),
    )
    (op,) = [op for op in program.walk() if isinstance(op, edge.OpaqueOp)]
    assert op.out_kernel == "aten::_native_batch_norm_legit.no_stats_out"


@pytest.mark.parametrize("padding_idx", [None, 1, -1])
def test_offsets_of_bags(padding_idx: int | None) -> None:
    """torch infers wrong shapes of results that nobody asks for where the last offset is the number of indices."""
    weight, indices, offsets = torch.randn(5, 3), torch.tensor([1, 4, 4, 0, 2]), torch.tensor([0, 2, 5])
    bags = partial(embedding_bag, mode="mean", include_last_offset=True, padding_idx=padding_idx)
    module = check(lambda i, w, o: bags(i, w, o), indices, weight, offsets)
    (op,) = [op for op in module.walk() if isinstance(op, edge.OpaqueOp)]
    dropped = 1 if padding_idx is None else 0
    assert op.results[2].type == TensorType(i64, [2 + dropped])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", [[0, 2], [0, 2, 2, 4], [0, 3, 5]])
def test_bags_that_end_early(mode: str, offsets: list[int]) -> None:
    """The last offset is where the last bag ends, if eager's mode has it so."""
    weight, indices = torch.randn(5, 3), torch.tensor([1, 4, 4, 0, 2])
    for padding_idx in (None, 4):
        bags = partial(embedding_bag, mode=mode, include_last_offset=True, padding_idx=padding_idx)
        check(lambda i, w, o, bags=bags: bags(i, w, o), indices, weight, torch.tensor(offsets))


def test_decompositions_with_named_results() -> None:
    """torch's decompositions answer structures of their own, of which a result is a field, or a list of results."""
    assert names(check(torch.aminmax, X)) == ["amin", "amax"]
    assert names(check(lambda x: tuple(x.aminmax(dim=1)), X)) == ["amin", "amax"]
    edges = names(imported(lambda x: torch.histogramdd(x, [2, 3, 4]).bin_edges, (X,)))
    assert edges == ["opaque", "opaque"]


def test_checks_of_data_are_kept() -> None:
    """`linalg.inv` asserts that the matrix has an inverse; what export has checked, the element type, is left out."""
    ops = [op for op in check(torch.linalg.inv, torch.eye(3) + 1).walk() if isinstance(op, edge.OpaqueOp)]
    assert [op.schema.qualified_name for op in ops] == ["aten::linalg_inv_ex", "aten::_linalg_check_errors"]
    assert names(check(lambda x: x.to(torch.float64), X)) == ["_to_copy"]


def test_what_does_not_trace_stays_silently(caplog: pytest.LogCaptureFixture) -> None:
    """Our decomposition subtracts the largest element, of which there is none; torch's does not."""
    assert names(check(lambda x: x.logsumexp(0), torch.rand(0, 3))) == ["exp", "sum.dim_IntList", "log"]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_sparse_tensors_are_refused() -> None:
    for function, x in [
        (lambda x: x * 2, X.to_sparse()),
        (lambda x: x * 2, X.to_sparse_csr()),
        (lambda x: x.to_sparse(), X),
    ]:
        assert re.search(r"a sparse_\w+ tensor has no form here: make it dense", str(rejected(function, x)))


def test_decomposed_ops_are_traced_once() -> None:
    def many(x: Tensor) -> Tensor:
        for _ in range(50):
            x = x.flatten().reshape(2, 3)
        return x

    assert names(check(many, X)) == ["view"] * 100


# Side effects


def test_in_place_chain() -> None:
    def model(x: Tensor) -> Tensor:
        y = x * 2
        y.relu_()
        z = y.add_(x)
        y.mul_(3)
        return y + z

    assert names(check(model, X)) == ["mul.Scalar", "relu", "add.Tensor", "mul.Scalar", "add.Tensor"]


def test_in_place_keeps_the_element_type() -> None:
    check(lambda x: x.half().add_(x), X)


def test_importing_leaves_the_program_alone() -> None:
    def model(x: Tensor) -> Tensor:
        return torch.nn.functional.celu_(x + 1) + 1

    program = torch.export.export(Function(model), (X,))
    before = {node.name: list(node.users) for node in program.graph.nodes}
    first = str(import_exported_program(program, XirContext()))
    assert {node.name: list(node.users) for node in program.graph.nodes} == before
    assert str(import_exported_program(program, XirContext())) == first


def test_old_values_stay() -> None:
    def model(x: Tensor) -> Tensor:
        y = x * 2
        before = y + 1
        y.relu_()
        return before * y

    check(model, X)


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y[:, 0].fill_(5),
        lambda y: y.view(3, 2).add_(1),
        lambda y: y.flatten().mul_(2),
        lambda y: y.t().copy_(torch.ones(3, 2)),
    ],
)
def test_writing_through_a_view(write: Callable[[Tensor], Tensor]) -> None:
    def model(x: Tensor) -> Tensor:
        y = x * 2
        write(y)
        return y + 1

    check(model, X)


def window_mask(x: Tensor) -> Tensor:
    """A mask filled in window by window, as shifted attention does, with another read at the end."""
    mask = x.new_zeros((4, 4))
    for number, rows in enumerate((slice(0, 2), slice(2, 3), slice(3, 4))):
        for columns in (slice(0, 3), slice(3, None)):
            mask[rows, columns] = 2 * number + 1
    mask[0].mul_(2)
    return x + (mask.flatten()[None] - mask.flatten()[:, None]).masked_fill(mask.flatten()[None] == 3, -100.0)[:2, :3]


def test_masks_written_in_pieces_are_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xir.importer.importer.functionalize", lambda program: pytest.fail("traced again"))
    assert names(check(window_mask, X)) == ["add.Tensor"]
    program = torch.export.export(Function(window_mask), (X,))
    before = str(program.graph)
    first = str(import_exported_program(program, XirContext()))
    assert str(program.graph) == before
    assert str(import_exported_program(program, XirContext())) == first


def read_before_the_last_write(x: Tensor) -> Tensor:
    mask = torch.zeros(2, 3)
    mask[0] = 1
    early = x + mask
    mask[1] = 2
    return early * mask


def write_of_an_input(x: Tensor) -> Tensor:
    mask = torch.zeros(2, 3)
    mask[0] = 1
    mask[1] = x[1]
    return x * mask


def read_through_a_view(x: Tensor) -> Tensor:
    mask = torch.zeros(2, 3)
    row = mask[0]
    early = x + row
    mask[:, :2] = 4
    return early * row


@pytest.mark.parametrize("model", [read_before_the_last_write, write_of_an_input, read_through_a_view])
def test_masks_that_are_no_constants(model: Callable[[Tensor], Tensor]) -> None:
    check(model, X)


def test_constants_of_open_or_great_size_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(x: Tensor) -> Tensor:
        mask = torch.zeros(x.shape[0], 3)
        mask[:, 1] = 1
        return x * mask

    module = imported(model, (X,), dynamic_shapes={"args": ((Dim("n", max=9), None),)})
    assert "full" in names(module)
    monkeypatch.setattr("xir.importer.static_values.MAX_BYTES", 4)
    assert "full" in names(check(window_mask, X))


def test_random_masks_stay_random() -> None:
    def model(x: Tensor) -> Tensor:
        mask = torch.rand(2, 3)
        mask[0] = 1
        return x * mask

    assert "rand" in names(imported(model, (X,)))


def test_writing_to_the_base_of_a_view() -> None:
    def model(x: Tensor) -> Tensor:
        y = x * 2
        row = y[0]
        y.add_(1)
        return row + 1

    check(model, X)


def test_writing_to_a_dropouts_result_is_refused() -> None:
    """torch's own functionalisation loses the write."""

    def model(x: Tensor) -> Tensor:
        y = x * 2
        torch.nn.functional.dropout(y, training=False).mul_(2)
        return y + 1

    assert "shares with the operand of 'aten.dropout.default'" in str(rejected(model, X))


def test_regions_without_gradients() -> None:
    def model(x: Tensor) -> Tensor:
        with torch.no_grad():
            y = x * 2
        return y + 1

    check(model, X)


def test_mutated_input_is_refused() -> None:
    error = str(rejected(lambda x: x.add_(1), X))
    assert "changes input 'args_0' in place" in error
    assert "changes its buffers alone" in error
    assert "x.clone()" in error
    assert "return_changed_inputs=True" in error


def test_input_written_through_a_view_is_refused() -> None:
    """Also where nothing reads the input afterwards: the caller would."""

    def write(x: Tensor) -> Tensor:
        x[0].add_(1)
        return torch.ones(2)

    assert "changes input 'args_0' in place" in str(rejected(write, X))


def test_training_is_refused() -> None:
    assert "is for inference" in str(rejected(torch.nn.Dropout(0.5).train(), X))


# Shapes


def test_data_dependent_shape_is_refused() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.nonzero(x)  # the culprit

    error = str(rejected(Model(), X))
    assert f"{__file__}:{line_of(Model, '# the culprit')}: error: " in error
    assert "depends on the data" in error


def test_dynamic_batch() -> None:
    options = {"dynamic_shapes": (({0: Dim("batch", max=16)},),)}
    model = Function(lambda x: (x.flatten(1) * 2).relu().view(x.shape[0] * 2, -1))
    module = check(model, IMAGE.expand(2, 4, 8, 8).clone(), **options)
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert str(func.function_type) == "(tensor<?x4x8x8xf32>) -> tensor<?x128xf32>"
    assert func.arg_attrs is not None
    attributes = func.arg_attrs.data[0].data
    assert str(attributes["xir.max_shape"]) == "array<i64: 16, 4, 8, 8>"
    names = attributes["xir.dim_names"]
    assert isinstance(names, ArrayAttr)
    assert [bool(name.data) for name in names if isinstance(name, StringAttr)] == [True, False, False, False]
    ctx = XirContext()
    (result,) = run_module(module, ctx, [IMAGE.expand(5, 4, 8, 8)])
    torch.testing.assert_close(result, model(IMAGE.expand(5, 4, 8, 8).clone()))


def test_decomposing_keeps_sizes_open() -> None:
    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(10, 4)

        def forward(self, tokens: Tensor) -> Tensor:
            x = self.embedding(tokens)
            return torch.cat([torch.nn.functional.pad(x[:, 1:], [0, 0, 0, 1, 0, 0]), x], 2)

    tokens = torch.zeros(2, 5, dtype=torch.int64)
    module = check(Tokens(), tokens, dynamic_shapes=({0: Dim("batch", max=6)},))
    assert [str(op.result_types[0]) for op in module.walk() if op.name == "edge.constant_pad_nd"] == [
        "tensor<?x5x4xf32>"
    ]


def test_unbounded_dimension_is_refused() -> None:
    error = str(rejected(lambda x: x + 1, X, dynamic_shapes=(({0: Dim.DYNAMIC},),)))
    assert "has no upper bound: give one, torch.export.Dim(..., max=...)" in error


# Locations


def test_locations_are_the_users_lines() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.nn.functional.gelu(x)  # one
            return y.flatten()  # two

    first, second = [op for op in imported(Model(), (X,)).walk() if isinstance(op, edge.EdgeOp)]
    for op, name, text in ((first, "gelu", "# one"), (second, "flatten", "# two")):
        place = find_file_location(op.location)
        assert place is not None
        assert place.filename.data == __file__
        assert place.line.data == line_of(Model, text)
        assert find_name(op.location) == name


def test_constants_are_named() -> None:
    module = imported(Stateful(), (X,))
    assert [find_name(op.location) for op in module.walk() if isinstance(op, edge.ConstantOp)][:2] == [
        "weight",
        "offset",
    ]


# Sizes


def test_sizes_that_the_program_fixes_are_numbers() -> None:
    # torch keeps the symbol of such a size: what is written to the buffer had an open dimension.
    class Kept(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("row", torch.zeros(2))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            before = self.get_buffer("row") * 0.5
            self.get_buffer("row")[0:2] = x
            return before + self.get_buffer("row"), torch.nn.functional.adaptive_avg_pool2d(x.view(1, 1, 1, 2), (1, 1))

    module = imported(Kept(), (torch.randn(2),), dynamic_shapes=({0: Dim.AUTO(max=12)},))
    assert "?" not in module_to_text(module)


# Files


def test_pt2_file(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Stateful(), (X,)), path)
    module = import_pt2(path, XirContext())
    assert any(isinstance(op.value, DenseResourceAttr) for op in module.walk() if isinstance(op, edge.ConstantOp))


def test_files_that_are_no_pt2(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    with pytest.raises(DiagnosticError, match="no such file"):
        import_pt2(path, XirContext())
    path.write_bytes(b"hello")
    with pytest.raises(DiagnosticError, match=r"not a \.pt2 file"):
        import_pt2(path, XirContext())
    torch.save({"a": torch.zeros(1)}, path)
    with pytest.raises(DiagnosticError, match=r"cannot load this \.pt2 file"):
        import_pt2(path, XirContext())


def test_an_own_decomposition_that_raises_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """torch's own stands in, which need not compute what ATen's kernel does."""

    class Product(torch.nn.Module):
        def forward(self, x: Tensor, matrix: Tensor, vector: Tensor) -> Tensor:
            return torch.addmv(x, matrix, vector)

    def raises(*args: object, **kwargs: object) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(decompose, "_rule_of", lambda target: raises)
    caplog.set_level("DEBUG", decompose.__name__)
    import_exported_program(
        torch.export.export(Product(), (torch.ones(2), torch.ones(2, 3), torch.ones(3))), XirContext()
    )
    assert "a decomposition of xir's own raised ValueError: planted" in caplog.text


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("ends", [(0.5, 3.7), (-1, 1), (10, 0), (2.9, -3)])
def test_linspace_of_integers_counts_from_integers(dtype: torch.dtype, ends: tuple[float, float]) -> None:
    def between(x: torch.Tensor) -> torch.Tensor:
        return x.int() + torch.linspace(*ends, 5, dtype=dtype)

    check(between, torch.zeros(5))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("ends", [(0, 2.9, 1), (0.5, 3.7, 1), (0, 10, 1.5), (5, -5.5, -2), (5.9, 1, -2.7), (3, 9, 2)])
def test_ranges_of_integers_count_before_they_convert(dtype: torch.dtype, ends: tuple[float, float, float]) -> None:
    length = len(torch.arange(*ends, dtype=dtype))

    def counted(x: torch.Tensor) -> torch.Tensor:
        return x.int() + torch.arange(*ends, dtype=dtype)

    check(counted, torch.zeros(length))


def test_a_constant_that_no_integer_holds_is_converted_by_a_kernel() -> None:
    """C++ leaves open what it becomes, so that no pass decides it."""

    def convert(x: torch.Tensor) -> torch.Tensor:
        return x + torch.full((3,), -1.5).to(torch.uint8)

    program = to_edge(torch.export.export(Function(convert), (torch.zeros(3),)))
    delegated = program.to_backend(XnnpackPartitioner())
    assert any("it converts a constant of which -1.5 is no ui8" in each.message for each in delegated.remarks)
