"""Importing exported programs: what a module means in torch is what its edge form means."""

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reference.modules import Calling, Function
from reference.sources import line_of
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional as F  # noqa: N812
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.importer import decompose, import_exported_program, import_pt2, steps
from xir.importer.interpreter import run_module
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import find_name
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text
from xir.ir.verifier import verify

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

Model = nn.Module | Callable[..., Any]


def imported(model: Model, inputs: tuple[Any, ...], ctx: XirContext | None = None, **options: Any) -> ModuleOp:
    model = model if isinstance(model, nn.Module) else Function(model)
    module = import_exported_program(torch.export.export(model, inputs, **options), ctx or XirContext())
    verify(module)
    return module


def check(model: Model, *inputs: Any, **options: Any) -> ModuleOp:
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


def opaque(module: ModuleOp) -> list[edge.OpaqueOp]:
    return [op for op in module.walk() if isinstance(op, edge.OpaqueOp)]


def function_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.walk() if isinstance(op, FuncOp))


def open_sizes(**dims: Any) -> Any:
    """The option of an export for the first input's dimensions by number, `_0`, `_1`."""
    return {"dynamic_shapes": (({int(name[1:]): dim for name, dim in dims.items()},),)}


X = torch.rand(2, 3) + 0.5
IMAGE = torch.rand(1, 4, 8, 8)


# Inputs, outputs and constants


class Stateful(nn.Module):
    offset: Tensor
    scratch: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 3))
        self.register_buffer("offset", torch.rand(3))
        self.register_buffer("scratch", torch.rand(3), persistent=False)
        self.unused = nn.Parameter(torch.rand(5))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.offset * self.scratch + torch.tensor([1.0, 2.0, 3.0])


def test_parameters_buffers_and_lifted_constants() -> None:
    module = check(Stateful(), X)
    constants = [op for op in module.walk() if isinstance(op, edge.ConstantOp)]
    assert [op.resource for op in constants][:3] == ["weight", "offset", "scratch"]
    assert [find_name(op.location) for op in constants][:2] == ["weight", "offset"]
    assert len(constants) == 4, "what is not used is not imported"


def test_weights_are_not_copied_and_outlive_the_program() -> None:
    model, ctx = Stateful(), XirContext()
    module = imported(model, (X,), ctx)
    assert ctx.blobs.get("weight").ctypes.data == model.weight.data_ptr()
    del model
    run_module(module, ctx, [X])


def test_strided_weights() -> None:
    model = nn.Conv2d(4, 4, 3)
    model.weight.data = model.weight.data.to(memory_format=torch.channels_last)
    ctx = XirContext()
    module = imported(model, (IMAGE,), ctx)
    assert not ctx.blobs.get("weight").flags.c_contiguous
    np.testing.assert_allclose(run_module(module, ctx, [IMAGE])[0], model(IMAGE).detach(), rtol=1e-5, atol=1e-6)


def tied_layers() -> nn.Module:
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    return nn.Sequential(first, second)


def test_nested_inputs_and_outputs() -> None:
    module = check(lambda x, pair: {"sum": x + pair[0], "rest": [pair[1]["y"] * 2, x]}, X, (X, {"y": X}))
    func = function_of(module)
    assert [a.name_hint for a in func.body.block.args]
    assert str(func.attributes["xir.in_spec"]) == "\"T2#3#0(T2#1#2($,T2#1#1($,D1#1('y':$))),D0())\""
    assert str(func.attributes["xir.out_spec"]) == "\"D2#1#2('sum':$,'rest':L2#1#1($,$))\""


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
    call: Any = (lambda x: x.unfold(0, 2, 1), (torch.rand(7),))  # pyright: ignore[reportUnknownLambdaType]
    shapes = open_sizes(_0=Dim("n", min=3, max=9))
    assert "as_strided" in names(imported(*call, **shapes))
    monkeypatch.delitem(decompose.decomposition_table, torch.ops.aten.unfold.default)
    assert "opaque" in names(imported(*call, **shapes))
    monkeypatch.setattr(steps, "is_composite", lambda target: True)  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(DiagnosticError, match=r"unfold.default has no form for all of its open sizes: torch's own"):
        imported(*call, **shapes)


@pytest.mark.parametrize(
    "function",
    [lambda x: x.bool().chunk(2, 1)[-1], lambda x: torch.einsum("...i,...i->...", x, x)],
    ids=["halves", "products of rows"],
)
def test_what_is_true_of_each_of_few_sizes(function: Callable[[Tensor], Tensor]) -> None:
    """torch knows ranges of sizes, and not that none of them is half of itself."""
    ctx = XirContext()
    module = imported(function, (torch.rand(5, 4, 3),), ctx, **open_sizes(_0=Dim.AUTO(max=9), _1=Dim.AUTO(max=9)))  # pyright: ignore[reportCallIssue]
    for sizes in product(range(2, 10), repeat=2):
        x = torch.randn(*sizes, 3)
        torch.testing.assert_close(run_module(module, ctx, [x])[0], function(x))


def test_arithmetic_that_only_an_assertion_uses() -> None:
    """It need not have a form, as the choice between two sizes has none."""

    def checked(x: Tensor) -> Tensor:
        size = torch.sym_ite(x.shape[0] > 3, x.shape[0], 2 * x.shape[0])
        torch.ops.aten._assert_scalar(size + 1 > 1, "so large")
        return x + 1

    module = imported(checked, (torch.rand(7),), **open_sizes(_0=Dim("n", min=2, max=9)))
    assert names(module) == ["sym_size.int", "add.Scalar"]


# Operators and side effects


def in_place_chain(x: Tensor) -> Tensor:
    y = x * 2
    y.relu_()
    z = y.add_(x)
    y.mul_(3)
    return y + z


def many_views(x: Tensor) -> Tensor:
    """Which are traced once."""
    for _ in range(50):
        x = x.flatten().reshape(2, 3)
    return x


def window_mask(x: Tensor) -> Tensor:
    """A mask filled in window by window, as shifted attention does, with another read at the end."""
    mask = x.new_zeros((4, 4))
    for number, rows in enumerate((slice(0, 2), slice(2, 3), slice(3, 4))):
        for columns in (slice(0, 3), slice(3, None)):
            mask[rows, columns] = 2 * number + 1
    mask[0].mul_(2)
    return x + (mask.flatten()[None] - mask.flatten()[:, None]).masked_fill(mask.flatten()[None] == 3, -100.0)[:2, :3]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: 1 - x, "rsub.Scalar"),
        (lambda x: x.half().float(), "_to_copy _to_copy"),
        (lambda x: F.selu(x), "elu"),
        (lambda x: x.chunk(3, 1)[1], "split.Tensor"),
        (lambda x: torch.where(x > 0.7, x, 0.0), "gt.Scalar scalar_tensor where.self"),
        (lambda x: torch.erfinv(x / 2), "div.Scalar opaque"),
        # torch's decompositions answer structures of their own, of which a result is a field.
        (torch.aminmax, "amin amax"),
        (lambda x: tuple(x.aminmax(dim=1)), "amin amax"),
        # What export has checked, the element type, is left out.
        (lambda x: x.to(torch.float64), "_to_copy"),
        (in_place_chain, "mul.Scalar relu add.Tensor mul.Scalar add.Tensor"),
        (many_views, "view " * 100),
        (window_mask, "add.Tensor"),
    ],
)
def test_operators_that_stay_or_decompose(function: Model, expected: str) -> None:
    assert names(check(function, X)) == expected.split()


LAYERS: list[tuple[nn.Module, Tensor]] = [
    (nn.LocalResponseNorm(2), IMAGE),
    (nn.Sequential(nn.BatchNorm2d(4), nn.SiLU(inplace=True)), IMAGE),
    *((nn.Linear(3, 4).to(dtype), X.to(dtype)) for dtype in (torch.bfloat16, torch.float16, torch.float64)),
    (tied_layers(), X),
    # torch's own decompositions write in place, or call mkldnn where it is there.
    *((layer(8, 4, num_layers=2, bidirectional=True), torch.rand(3, 2, 8)) for layer in (nn.LSTM, nn.GRU, nn.RNN)),
]
"""`ops/` has layers that are delegated, in which nothing is opaque either."""


@pytest.mark.parametrize(("model", "x"), LAYERS, ids=lambda value: type(value).__name__)
def test_layers(model: nn.Module, x: Tensor) -> None:
    before = torch._C._get_mkldnn_enabled()
    assert "opaque" not in names(check(model.eval(), x))
    assert torch._C._get_mkldnn_enabled() == before


def old_values_stay(x: Tensor) -> Tensor:
    y = x * 2
    before = y + 1
    y.relu_()
    return before * y


def through_a_view(write: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def model(x: Tensor) -> Tensor:
        y = x * 2
        write(y)
        return y + 1

    return model


def through_the_base_of_a_view(x: Tensor) -> Tensor:
    y = x * 2
    row = y[0]
    y.add_(1)
    return row + 1


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


def without_gradients(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = x * 2
    return y + 1


AGREEING: dict[str, Model] = {
    "an input and a constant as outputs": Calling(lambda m, x: (x, m.weight, None), weight=nn.Parameter(torch.rand(3))),
    "in place in the type written to": lambda x: x.half().add_(x),
    "old values stay": old_values_stay,
    "a column": through_a_view(lambda y: y[:, 0].fill_(5)),
    "another shape": through_a_view(lambda y: y.view(3, 2).add_(1)),
    "flat": through_a_view(lambda y: y.flatten().mul_(2)),
    "transposed": through_a_view(lambda y: y.t().copy_(torch.ones(3, 2))),
    "the base of a view": through_the_base_of_a_view,
    "a mask read before its last write": read_before_the_last_write,
    "a mask of an input": write_of_an_input,
    "a mask read through a view": read_through_a_view,
    "regions without gradients": without_gradients,
    # More of these in `interop/test_factories_meet_types.py`.
    "integers between fractions": lambda x: x.int()[0, 0] + torch.linspace(2.9, -3, 5, dtype=torch.uint8),
    "integers between integers": lambda x: x.int()[0, 0] + torch.linspace(10, 0, 5, dtype=torch.int32),
    "a range of integers between fractions": lambda x: x.int()[0, 0] + torch.arange(5.9, 1, -2.7, dtype=torch.int8),
    "a range of integers by a fraction": lambda x: x.int()[0, 0] + torch.arange(0, 10, 1.5, dtype=torch.uint8),
}


@pytest.mark.parametrize("name", AGREEING)
def test_side_effects_and_outputs(name: str) -> None:
    check(AGREEING[name], X)


def test_custom_operator() -> None:
    with torch.library._scoped_library("xir_test", "FRAGMENT") as library:
        library.define("twice(Tensor x, float by=2.0, *, int[]? dims=None) -> Tensor")
        library.impl("twice", lambda x, by=2.0, *, dims=None: x * by, "CPU")
        library.impl("twice", lambda x, by=2.0, *, dims=None: torch.empty_like(x), "Meta")
        (op,) = opaque(check(lambda x: torch.ops.xir_test.twice(x, 3.0, dims=[1]), X))
    assert op.schema.qualified_name == "xir_test::twice"
    assert op.argument("by") == 3.0
    assert op.argument("dims") == (1,)


def test_choices_between_numbers() -> None:
    """torch's decomposition keeps the numbers in an operator of its own where sizes are dynamic."""

    def mask(ids: Tensor) -> Tensor:
        return torch.where((ids != 1)[:, None] & (ids > 0), 0.0, -1e4) + torch.where(ids > 2, ids, 2)

    assert "opaque" not in names(check(mask, torch.arange(7), **open_sizes(_0=Dim("n", max=64))))


@pytest.mark.parametrize(
    ("function", "x", "kernel"),
    [
        (torch.erfinv, X, "aten::erfinv.out"),
        # It takes what `.no_stats` takes, and running statistics, which it would change.
        (
            lambda x: torch.ops.aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.5, 1e-5),
            torch.randn(1, 2, 3),
            "aten::_native_batch_norm_legit.no_stats_out",
        ),
    ],
)
def test_opaque_op_names_its_kernel(function: Model, x: Tensor, kernel: str) -> None:
    assert [op.out_kernel for op in opaque(imported(function, (x,)))] == [kernel]


WEIGHT, INDICES = torch.randn(5, 3), torch.tensor([1, 4, 4, 0, 2])


@pytest.mark.parametrize("padding_idx", [None, 1, -1])
def test_offsets_of_bags(padding_idx: int | None) -> None:
    """torch infers wrong shapes of results that nobody asks for where the last offset is the number of indices."""
    bags = partial(F.embedding_bag, mode="mean", include_last_offset=True, padding_idx=padding_idx)
    (op,) = opaque(check(lambda i, w, o: bags(i, w, o), INDICES, WEIGHT, torch.tensor([0, 2, 5])))
    dropped = 1 if padding_idx is None else 0
    assert op.results[2].type == TensorType(i64, [2 + dropped])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_that_end_early(mode: str) -> None:
    """The last offset is where the last bag ends, if eager's mode has it so."""
    for offsets, padding_idx in product(([0, 2], [0, 2, 2, 4], [0, 3, 5]), (None, 4)):
        bags = partial(F.embedding_bag, mode=mode, include_last_offset=True, padding_idx=padding_idx)
        check(lambda i, w, o, bags=bags: bags(i, w, o), INDICES, WEIGHT, torch.tensor(offsets))


def test_checks_of_data_are_kept() -> None:
    """`linalg.inv` asserts that the matrix has an inverse."""
    ops = opaque(check(torch.linalg.inv, torch.eye(3) + 1))
    assert [op.schema.qualified_name for op in ops] == ["aten::linalg_inv_ex", "aten::_linalg_check_errors"]


def test_a_list_of_results_is_one_result_each() -> None:
    edges = names(imported(lambda x: torch.histogramdd(x, [2, 3, 4]).bin_edges, (X,)))
    assert edges == ["opaque", "opaque"]


def test_what_does_not_trace_stays_silently(caplog: pytest.LogCaptureFixture) -> None:
    """Our decomposition subtracts the largest element, of which there is none; torch's does not."""
    assert names(check(lambda x: x.logsumexp(0), torch.rand(0, 3))) == ["exp", "sum.dim_IntList", "log"]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_an_own_decomposition_that_raises_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """torch's own stands in, which need not compute what ATen's kernel does."""

    def raises(*args: object, **kwargs: object) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(decompose, "_rule_of", lambda target: raises)
    caplog.set_level("DEBUG", decompose.__name__)
    imported(torch.addmv, (torch.ones(2), torch.ones(2, 3), torch.ones(3)))
    assert "a decomposition of xir's own raised ValueError: planted" in caplog.text


@pytest.mark.parametrize("function", [lambda x: F.celu_(x + 1) + 1, window_mask])
def test_importing_leaves_the_program_alone(function: Callable[[Tensor], Tensor]) -> None:
    program = torch.export.export(Function(function), (X,))
    before = str(program.graph), {node.name: list(node.users) for node in program.graph.nodes}
    first = str(import_exported_program(program, XirContext()))
    assert (str(program.graph), {node.name: list(node.users) for node in program.graph.nodes}) == before
    assert str(import_exported_program(program, XirContext())) == first


def test_masks_written_in_pieces_are_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xir.importer.importer.functionalize", lambda program: pytest.fail("traced again"))
    assert names(check(window_mask, X)) == ["add.Tensor"]


def test_constants_of_open_or_great_size_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(x: Tensor) -> Tensor:
        mask = torch.zeros(x.shape[0], 3)
        mask[:, 1] = 1
        return x * mask

    assert "full" in names(imported(model, (X,), **open_sizes(_0=Dim("n", max=9))))
    monkeypatch.setattr("xir.importer.static_values.MAX_BYTES", 4)
    assert "full" in names(check(window_mask, X))


def test_random_masks_stay_random() -> None:
    def model(x: Tensor) -> Tensor:
        mask = torch.rand(2, 3)
        mask[0] = 1
        return x * mask

    assert "rand" in names(imported(model, (X,)))


# What is refused


def dropout_written_to(x: Tensor) -> Tensor:
    """torch's own functionalisation loses the write."""
    y = x * 2
    F.dropout(y, training=False).mul_(2)
    return y + 1


def input_written_through_a_view(x: Tensor) -> Tensor:
    """Also where nothing reads the input afterwards: the caller would."""
    x[0].add_(1)
    return torch.ones(2)


class Selecting(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.nonzero(x)  # the culprit


CULPRIT = re.escape(f"{__file__}:{line_of(__file__, '# the culprit')}: error: ")
SPARSE = r"a sparse_\w+ tensor has no form here: make it dense"


@pytest.mark.parametrize(
    ("model", "x", "options", "message"),
    [
        (lambda x: (x + 1, "three"), X, {}, "output #1 is the constant 'three': return tensors, numbers and None only"),
        (lambda x: (x, 2**70), X, {}, "output #1 is the constant 1180591620717411303424, which has more"),
        (lambda x: x * 2, X.to_sparse(), {}, SPARSE),
        (lambda x: x * 2, X.to_sparse_csr, {}, SPARSE),
        (lambda x: x.to_sparse(), X, {}, SPARSE),
        (dropout_written_to, X, {}, "shares with the operand of 'aten.dropout.default'"),
        (lambda x: x.add_(1), X, {}, "changes input 'args_0' in place"),
        (lambda x: x.add_(1), X, {}, r"(?=.*changes its buffers alone)(?=.*x\.clone\(\)).*return_changed_inputs=True"),
        (input_written_through_a_view, X, {}, "changes input 'args_0' in place"),
        (nn.Dropout(0.5).train(), X, {}, "is for inference"),
        (Selecting(), X, {}, f"{CULPRIT}.*depends on the data"),
        (
            lambda x: x + 1,
            X,
            open_sizes(_0=Dim.DYNAMIC),
            r"has no upper bound: give one, torch\.export\.Dim\(\.\.\., max=\.\.\.\)",
        ),
    ],
)
def test_what_is_refused(model: Model, x: Tensor | Callable[[], Tensor], options: Any, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        imported(model, (x if isinstance(x, Tensor) else x(),), **options)


@pytest.mark.parametrize(
    ("shapes", "name"),
    [
        ({"x": [{0: Dim.DYNAMIC}, {}], "more": {"bias": {}}}, "x[0]"),
        ({"x": [{}, {1: Dim.DYNAMIC}], "more": {"bias": {}}}, "x[1]"),
        ({"x": [{}, {}], "more": {"bias": {0: Dim.DYNAMIC}}}, "more['bias']"),
    ],
)
def test_a_refused_input_has_the_name_that_forward_gives_it(shapes: Any, name: str) -> None:
    def forward(_: nn.Module, x: list[Tensor], *, more: dict[str, Tensor]) -> Tensor:
        return torch.einsum("ij,jk->ik", x[0], x[1]) + more["bias"]

    bias = torch.ones(3, 5) if name[0] == "m" else torch.ones(1, 1)
    x = [torch.ones(1 if name[0] == "m" else 3, 4), torch.ones(4, 5)]
    program = torch.export.export(Calling(forward), (x,), {"more": {"bias": bias}}, dynamic_shapes=shapes)
    message = f"input '{name}': error: dimension {int(name == 'x[1]')} of input '{name}' has no upper bound: give one"
    with pytest.raises(DiagnosticError, match=f"^{re.escape(message)}"):
        import_exported_program(program, XirContext())


# Shapes


def test_dynamic_batch() -> None:
    model = Function(lambda x: (x.flatten(1) * 2).relu().view(x.shape[0] * 2, -1))
    module = check(model, IMAGE.expand(2, 4, 8, 8).clone(), **open_sizes(_0=Dim("batch", max=16)))
    func = function_of(module)
    assert str(func.function_type) == "(tensor<?x4x8x8xf32>) -> tensor<?x128xf32>"
    assert func.arg_attrs is not None
    attributes = func.arg_attrs.data[0].data
    assert str(attributes["xir.max_shape"]) == "array<i64: 16, 4, 8, 8>"
    names = attributes["xir.dim_names"]
    assert isinstance(names, ArrayAttr)
    assert [bool(name.data) for name in names if isinstance(name, StringAttr)] == [True, False, False, False]
    (result,) = run_module(module, XirContext(), [IMAGE.expand(5, 4, 8, 8)])
    torch.testing.assert_close(result, model(IMAGE.expand(5, 4, 8, 8).clone()))


def test_decomposing_keeps_sizes_open() -> None:
    def forward(model: Any, tokens: Tensor) -> Tensor:
        x = model.embedding(tokens)
        return torch.cat([F.pad(x[:, 1:], [0, 0, 0, 1, 0, 0]), x], 2)

    tokens, shapes = torch.zeros(2, 5, dtype=torch.int64), ({0: Dim("batch", max=6)},)
    module = check(Calling(forward, embedding=nn.Embedding(10, 4)), tokens, dynamic_shapes=shapes)
    pads = [op for op in module.walk() if op.name == "edge.constant_pad_nd"]
    assert [str(op.result_types[0]) for op in pads] == ["tensor<?x5x4xf32>"]


def test_sizes_that_the_program_fixes_are_numbers() -> None:
    """torch keeps the symbol of such a size: what is written to the buffer had an open dimension."""

    def forward(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        before = model.row * 0.5
        model.row[0:2] = x
        return before + model.row, F.adaptive_avg_pool2d(x.view(1, 1, 1, 2), (1, 1))

    model, shapes = Calling(forward, row=torch.zeros(2)), ({0: Dim.AUTO(max=12)},)  # pyright: ignore[reportCallIssue]
    assert "?" not in module_to_text(imported(model, (torch.randn(2),), dynamic_shapes=shapes))


# Files


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


def test_a_constant_that_no_integer_holds_is_converted_by_a_kernel() -> None:
    """C++ leaves open what it becomes, so that no pass decides it."""
    model = Function(lambda x: x + torch.full((3,), -1.5).to(torch.uint8))
    delegated = to_edge(torch.export.export(model, (torch.zeros(3),))).to_backend(XnnpackPartitioner())
    assert any("it converts a constant of which -1.5 is no ui8" in each.message for each in delegated.remarks)
