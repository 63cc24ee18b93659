"""Files of stock ExecuTorch whose kernels and delegates become one program again, and compute what they did."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from reference.modules import Function
from reference.runtimes import load_stock
from reference.tools import Tool
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import xir
from xir.cost.profile import load_profile
from xir.cost.work import INTEGER_KERNELS
from xir.emitter import FormatError
from xir.ir.remarks import Remark
from xir.lock.predicted import knowing_most, predicted_microseconds
from xir.runtime import Runtime, XirMissingDataError
from xir.runtime.same_results import MethodCall, drawn_inputs, sameness


class Attention(nn.Module):
    """Attention over a window that hides what comes later, with a norm before and a residual sum behind."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).view(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(1, 6, 16))


class Normed(nn.Module):
    """Instance norms, which stock computes outside as batch norms of one sample."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(8, 6, 3), nn.InstanceNorm2d(6, affine=True), nn.Conv2d(6, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.norm(self.first(x)).relu())


class Recurrent(nn.Module):
    """An LSTM, each step of which stock divides in two."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(5, 7, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.cells(x)[0]


def stock_file(
    model: nn.Module,
    inputs: tuple[Tensor, ...],
    path: Path,
    *,
    delegates: bool = True,
    quantized: bool = False,
    weights_apart: bool = False,
) -> Path:
    """ExecuTorch's file of a model, beside one of its weights if these are apart."""
    partitioner: list[Any] = [StockPartitioner()] if delegates else []
    exported = torch.export.export(model.eval(), inputs)
    if quantized:
        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
        observed = prepare_pt2e(exported.module(), quantizer)  # pyright: ignore[reportArgumentType]
        observed(*inputs)
        exported = torch.export.export(convert_pt2e(observed), inputs)
    lowered = to_edge_transform_and_lower(exported, partitioner=partitioner)
    program = lowered.to_executorch(ExecutorchBackendConfig(external_constants=weights_apart))
    path.write_bytes(program.buffer)
    if weights_apart:
        program.write_tensor_data_to_file(str(path.parent))
    return path


pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")

IMAGE = torch.randn(1, 8, 6, 6)

MODELS: dict[str, tuple[nn.Module, tuple[Tensor, ...], int]] = {
    "attention": (Attention(), (torch.randn(1, 6, 16),), 1),
    "attention without a mask": (
        Function(lambda q: F.scaled_dot_product_attention(q, q * 2, q.sin())),
        (torch.randn(1, 2, 5, 8),),
        1,
    ),
    "lstm": (Recurrent(), (torch.randn(1, 3, 5),), 1),
    "views": (
        Function(lambda x: torch.cat([x.view(4, 6).abs(), x.view(4, 6).exp()]).view(6, 8).T),
        (torch.randn(24),),
        1,
    ),
    "image": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (IMAGE,), 1),
    "channels last": (
        nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Upsample(scale_factor=2), nn.Flatten()),
        (IMAGE.to(memory_format=torch.channels_last),),
        1,
    ),
    "instance norm": (Normed(), (IMAGE,), 1),
    "integers": (Function(lambda x: (x * 3 // 2).clamp(max=40).sum(-1)), (torch.randint(0, 50, (3, 4)),), 0),
}
"""Models, their inputs, and the delegates of the file that is made of stock's."""


PORTABLE = {"attention without a mask", "views", "image", "integers"}
"""Of these `make test` takes the file without delegates, of the others the one with them; of what has another order in
memory both."""


def forms() -> Iterator[Any]:
    """Each model with delegates and without, one of which is for `make test-zoo`."""
    for name, delegates in product(MODELS, (True, False)):
        is_quick = delegates != (name in PORTABLE) or name == "channels last"
        marks = () if is_quick else pytest.mark.exhaustive
        yield pytest.param(name, delegates, id=f"{name}-{'delegated' if delegates else 'portable'}", marks=marks)


@pytest.mark.parametrize(("name", "delegates"), list(forms()))
def test_a_file_of_stock_is_compiled_once_more(name: str, delegates: bool, tmp_path: Path) -> None:
    model, inputs, count = MODELS[name]
    path = stock_file(model, inputs, tmp_path / "stock.pte", delegates=delegates)
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    assert program.num_delegates == count
    program.save(tmp_path / "remade.pte")
    ours, stock = Runtime.get().load_program(tmp_path / "remade.pte").load_method(), load_stock(path)
    theirs = None if program.missing_kernels else load_stock(tmp_path / "remade.pte")
    for factor in (1, 2, 3):
        given = [(each * factor).to(each.dtype) for each in inputs]
        want = [each.clone() for each in stock.forward(given)]
        for results in [ours.execute(given), *([] if theirs is None else [theirs.forward(given)])]:
            for got, wanted in zip(results, want, strict=True):
                torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


GOLDEN = Path(__file__).parents[3] / "backend_cpp/tests/data"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("stock_[!e]*.pte")), ids=lambda path: path.stem)
def test_a_golden_file_goes_on_computing_what_it_did(path: Path, tmp_path: Path) -> None:
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    stays = {each.reason for each in program.remarks if isinstance(each, Remark) and each.name == "not-raised"}
    assert not stays
    program.save(tmp_path / "remade.pte")
    programs = [Runtime.get().load_program(each) for each in (path, tmp_path / "remade.pte")]
    for name in programs[0].method_names:
        old, new = (program.load_method(name) for program in programs)
        inputs = drawn_inputs(old.metadata, 2)
        for _ in range(3):
            for want, got in zip(old.execute(inputs), new.execute(inputs), strict=True):
                torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


def test_kernels_without_an_op_are_called_as_before(tmp_path: Path) -> None:
    model, x = Function(lambda x: torch.fmax(x, x.sin()).abs().cumprod(0) + x), torch.rand(3, 4)
    xir.to_edge(torch.export.export(model, (x,))).to_executorch().save(tmp_path / "portable.pte")
    program = xir.load(tmp_path / "portable.pte").optimized(xir.XnnpackPartitioner())
    assert program.kernel_names == ["aten::fmax.out", "aten::cumprod.out"]
    program.save(tmp_path / "remade.pte")
    result = Runtime.get().load_program(tmp_path / "remade.pte").load_method().execute([x])[0]
    torch.testing.assert_close(result, model(x))


def test_a_method_that_cannot_be_raised_says_why(tmp_path: Path, aot: Tool) -> None:
    model = Function(lambda x: torch.cond(x.sum() > 0, lambda y: y.relu(), lambda y: y.sin(), (x,)))
    path = stock_file(model, (torch.randn(4, 5),), tmp_path / "branches.pte")
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert [each.message for each in program.remarks] == [
        "raise-from-pte: method forward stays as it is: it branches or loops"
    ]
    program.save(tmp_path / "remade.pte")
    assert aot(f"{path} -o better.pte --no-stock").splitlines()[0] == program.remarks[0].message
    x = torch.rand(4, 5)
    assert torch.equal(load_stock(tmp_path / "remade.pte").forward([x])[0], x.relu())


def test_an_output_in_an_order_that_no_kernel_copies_into(tmp_path: Path, aot: Tool) -> None:
    """Of `nonzero` ExecuTorch says that its columns lie one behind the other, and has no copy into that order."""
    model = Function(lambda x: ((x.exp() > 1).nonzero(), x.exp()))
    path, x = stock_file(model, (IMAGE,), tmp_path / "stock.pte"), torch.randn_like(IMAGE)
    said = aot(f"{path} -o {tmp_path / 'better.pte'} --no-stock").splitlines()[0]
    assert said == ("raise-from-pte: method forward stays as it is: no kernel copies an output into the order [1, 0]")
    want = [each.clone() for each in load_stock(path).forward([x])]
    for got, wanted in zip(load_stock(tmp_path / "better.pte").forward([x]), want, strict=True):
        torch.testing.assert_close(got, wanted)


def test_numbers_that_are_returned_in_any_case(tmp_path: Path) -> None:
    """Such as sizes, and a number that is given."""
    model = Function(lambda x, k: (x.exp() * k, x.shape[1], True, -1.5, k, None))
    x = torch.randn(3, 4)
    lowered = to_edge_transform_and_lower(torch.export.export(model, (x, 7)), partitioner=[StockPartitioner()])
    (tmp_path / "stock.pte").write_bytes(lowered.to_executorch().buffer)
    program = xir.load(tmp_path / "stock.pte").optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    program.save(tmp_path / "remade.pte")
    ours = Runtime.get().load_program(tmp_path / "remade.pte").load_method()
    for results in (ours.execute([x, 7]), load_stock(tmp_path / "remade.pte").forward([x, 7])):
        torch.testing.assert_close(results[0], model(x, 7)[0])
        assert results[1:] == [4, True, -1.5, 7, None]


def test_inputs_that_are_numbers_are_given_as_the_file_has_them(tmp_path: Path, aot: Tool) -> None:
    """No other are taken, so a method would run on none that are drawn; open sizes are drawn beside them."""
    model = Function(lambda x, k, factor, flag: x.exp() * k + factor if flag else x)
    inputs = (torch.randn(2, 3), 3, 1.5, True)
    for name, dims in (("fixed", None), ("open", (({0: torch.export.Dim("n", min=1, max=4)}, None, None, None),))):
        exported = torch.export.export(model, inputs, dynamic_shapes=dims)
        lowered = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()])
        (tmp_path / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)
        aot(f"{tmp_path / name}.pte -o {tmp_path}/better.pte --no-stock")
        results = load_stock(tmp_path / "better.pte").forward(list(inputs))
        torch.testing.assert_close(results[0], model(*inputs))


def test_inputs_that_a_method_changes_are_compared(tmp_path: Path, aot: Tool) -> None:
    """Each call gets its own, as the file that is compared later would see what the first has left."""

    def added(x: Tensor, kept: Tensor) -> Tensor:
        kept.add_(x.exp())
        return kept * 2

    inputs = (torch.randn(2, 3), torch.randn(2, 3))
    path = stock_file(Function(added), inputs, tmp_path / "stock.pte")
    said = aot(f"{path} -o {tmp_path}/better.pte --no-stock").splitlines()
    assert said[0] == "raise-from-pte: method forward stays as it is: it changes an input"
    assert "better.pte: the same outputs" in said[2]
    # What is changed is an output as well, of both files.
    other = stock_file(Function(lambda x, kept: (kept + x.exp(), (kept + x.exp()) * 2)), inputs, tmp_path / "other.pte")
    found = sameness(path, other, [MethodCall("forward", inputs, "call 1")], in_stock=False)
    assert found.difference > 1e-3
    assert found.where == "what is left in input 1 of 'forward' in call 1"


def test_inputs_that_callers_place_stay_theirs(tmp_path: Path) -> None:
    lowered = to_edge_transform_and_lower(
        torch.export.export(Attention().eval(), (torch.randn(1, 6, 16),)), partitioner=[StockPartitioner()]
    )
    plan = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    path = tmp_path / "stock.pte"
    path.write_bytes(lowered.to_executorch(ExecutorchBackendConfig(memory_planning_pass=plan)).buffer)
    method = Runtime.get().load_program(path).load_method()
    x = torch.randn(1, 6, 16)
    (want,) = load_stock(path).forward([x])
    torch.testing.assert_close(method.execute([x])[0], want)
    method.bind_output(0, placed := torch.empty_like(want))
    method.execute([x])
    torch.testing.assert_close(placed, want)
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert program.num_delegates == 1
    assert "planned" not in "".join(
        line for line in str(program).splitlines() if " = pte.tensor tensor<1x6x16xf32>" in line
    )


@pytest.mark.exhaustive
def test_integers_between_delegates_stay_integers(tmp_path: Path) -> None:
    """Which `test_constants_between_delegates_keep_their_scales` shows of more."""
    path = stock_file(Normed(), (IMAGE,), tmp_path / "q8.pte", quantized=True)
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert (program.num_delegates, program.kernel_names) == (1, [])
    program.save(tmp_path / "remade.pte")
    want = load_stock(path).forward([IMAGE])[0]
    torch.testing.assert_close(load_stock(tmp_path / "remade.pte").forward([IMAGE])[0], want, rtol=1e-5, atol=1e-5)


class Scaled(nn.Module):
    """Sums of what two delegates compute, times a constant on integers, as of ConvNeXt's blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(8, 6, 1), nn.LayerNorm(6), nn.Conv2d(6, 6, 1)
        self.scale = nn.Parameter(torch.rand(6, 1, 1), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        return y + self.scale * self.last(self.norm(y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


def test_constants_between_delegates_keep_their_scales(tmp_path: Path) -> None:
    path = stock_file(Scaled(), (IMAGE,), tmp_path / "q8.pte", quantized=True)
    assert xir.load(path).num_delegates > 1
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    assert program.num_delegates == 1
    # By a profile without kernels on integers they count, as on fp32.
    measured = load_profile("zen3")
    floats = {name: cost for name, cost in measured.kernels.items() if name not in INTEGER_KERNELS}
    blind = replace(measured, kernels=floats)
    estimated = predicted_microseconds(program, blind)
    assert estimated > 0.7 * predicted_microseconds(program, measured)
    # Such a profile decides nothing beside one that has them.
    assert knowing_most([blind, measured], [program]) == [measured]
    assert knowing_most([blind], [program]) == [blind]
    program.save(tmp_path / "better.pte")
    want = load_stock(path).forward([IMAGE])[0]
    torch.testing.assert_close(load_stock(tmp_path / "better.pte").forward([IMAGE])[0], want, rtol=1e-5, atol=1e-5)


class Ordered(nn.Module):
    """Outputs in channels-last memory: of a convolution, and of a kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 6, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.conv(x.to(memory_format=torch.channels_last)).contiguous(memory_format=torch.channels_last)
        return y, y.mean((2, 3)), x.cumsum(1).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("delegates", [True, False], ids=["delegated", "portable"])
def test_an_output_keeps_its_order_in_memory(delegates: bool, tmp_path: Path) -> None:
    path = stock_file(Ordered(), (IMAGE,), tmp_path / "stock.pte", delegates=delegates)
    program = xir.load(path).optimized(xir.XnnpackPartitioner())
    assert not [each.message for each in program.remarks if "stays as it is" in each.message]
    program.save(tmp_path / "remade.pte")
    old, new = (Runtime.get().load_program(each).load_method() for each in (path, tmp_path / "remade.pte"))
    orders = [each.dim_order for each in old.metadata.outputs]
    assert orders == [each.dim_order for each in new.metadata.outputs]
    assert orders.count((0, 2, 3, 1)) == 2
    want, theirs = load_stock(path).forward([IMAGE]), load_stock(tmp_path / "remade.pte").forward([IMAGE])
    for results in (new.execute([IMAGE]), theirs):
        for got, wanted in zip(results, want, strict=True):
            assert got.stride() == wanted.stride()
            torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_an_input_is_read_under_the_name_of_its_view(tmp_path: Path) -> None:
    """Stock leaves out the view, whose result lies where the input does."""
    model = Function(lambda i: F.embedding(i.view(6), torch.arange(30.0).view(10, 3)) * 2)
    path = stock_file(model, (torch.zeros(2, 3, dtype=torch.long),), tmp_path / "stock.pte")
    method, stock = Runtime.get().load_program(path).load_method(), load_stock(path)
    for number in (3, 7, 1):
        given = torch.full((2, 3), number)
        assert torch.equal(method.execute([given])[0], stock.forward([given])[0])
        assert torch.equal(method.execute([given])[0], model(given))


class Looked(nn.Module):
    """Weights of a kernel outside, of delegates, and of a kernel between them."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.first, self.norm, self.last = (
            nn.Embedding(9, 8),
            nn.Linear(8, 12),
            nn.LayerNorm(12),
            nn.Linear(12, 4),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.norm(self.first(self.table(x))))


@pytest.mark.parametrize(
    "delegates", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["delegated", "portable"]
)
def test_weights_of_another_file_become_its_own(delegates: bool, tmp_path: Path, aot: Tool) -> None:
    model, x = Looked().eval(), torch.randint(0, 9, (3,))
    path = stock_file(model, (x,), tmp_path / "apart.pte", delegates=delegates, weights_apart=True)
    (weights,) = tmp_path.glob("*.ptd")
    aot(f"{path} -o better.pte", code=1)
    assert "no .ptd file was given" in aot.err
    assert "compared in xir's runtime and in stock ExecuTorch's" in aot(f"{path} --data {weights} -o better.pte")
    for results in (
        Runtime.get().load_program(tmp_path / "better.pte").load_method().execute([x]),
        load_stock(tmp_path / "better.pte").forward([x]),
    ):
        torch.testing.assert_close(results[0], model(x))


class Adapted(nn.Module):
    """A large layer, which other programs have as well, with a small correction of its own."""

    def __init__(self, shared: nn.Module, rank: int) -> None:
        super().__init__()
        self.table, self.shared = nn.Embedding(9, 32), shared
        self.down, self.up = nn.Linear(32, rank, bias=False), nn.Linear(rank, 32, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.table(x)
        return torch.cumsum(self.shared(x) + self.up(self.down(x)) * 2, 1)


def adapted_file(folder: Path, shared: nn.Module, rank: int) -> tuple[Path, Path, Adapted]:
    """ExecuTorch's file of it, the file of weights that it shares, and the model."""
    model = Adapted(shared, rank).eval()
    unlifted = torch.export.export(model, (torch.tensor([1, 2]),)).module()
    delegate_external_constants_pass_unlifted(
        unlifted, lambda node: "shared" if str(node.target).startswith("shared.") else None
    )
    exported = torch.export.export(unlifted, (torch.tensor([1, 2]),))
    program = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()]).to_executorch()
    path = folder / f"rank{rank}.pte"
    path.write_bytes(program.buffer)
    program.write_tensor_data_to_file(str(folder))
    return path, folder / "shared.ptd", model


def test_weights_that_files_share_stay_shared(tmp_path: Path, aot: Tool) -> None:
    """Two programs with one file of weights are two programs with that file, untouched."""
    torch.manual_seed(0)
    shared, x = nn.Linear(32, 32), torch.tensor([3, 5])
    for rank in (2, 4):
        path, weights, model = adapted_file(tmp_path, shared, rank)
        before, new = weights.read_bytes(), tmp_path / f"better{rank}.pte"
        out = aot(f"{path} --data {weights} --data-apart -o {new}")
        assert "compared in xir's runtime and in stock ExecuTorch's" in out
        assert weights.read_bytes() == before
        content, matrix = new.read_bytes(), shared.weight.detach().numpy().tobytes()
        assert matrix in before
        assert matrix not in content
        assert model.down.weight.detach().numpy().tobytes() in content
        for results in (
            Runtime.get().load_program(new, data=[weights]).load_method().execute([x]),
            load_stock(new, weights).forward([x]),
        ):
            torch.testing.assert_close(results[0], model(x))
        with pytest.raises(XirMissingDataError):
            Runtime.get().load_program(new).load_method()
    assert aot.refuse(f"{path} --data-apart -o {new}").startswith("xir-aot: error: --data-apart is for the weights of")
    with pytest.raises(ValueError, match="give either that or data"):
        xir.load(path, data=[weights]).save(new, weights_apart=True, data=[weights])


def test_what_kernels_share_with_other_files_stays_shared(tmp_path: Path) -> None:
    """Tensors of a file of weights are named; one of another shape or with other elements is held."""
    path = stock_file(
        Looked(), (torch.randint(0, 9, (3,)),), tmp_path / "apart.pte", delegates=False, weights_apart=True
    )
    (weights,) = tmp_path.glob("*.ptd")
    program = xir.load(path, data=[weights])
    program.save(tmp_path / "same.pte", data=[weights])
    assert (tmp_path / "same.pte").stat().st_size <= path.stat().st_size
    other = tmp_path / "other"
    other.mkdir()
    stock_file(Looked(), (torch.randint(0, 9, (3,)),), other / "apart.pte", delegates=False, weights_apart=True)
    (others,) = other.glob("*.ptd")
    program.save(tmp_path / "whole.pte", data=[others])
    assert abs((tmp_path / "whole.pte").stat().st_size - len(program.buffer)) < 1000


def test_damaged_weights_are_one_diagnostic(tmp_path: Path, aot: Tool) -> None:
    path = stock_file(Looked(), (torch.randint(0, 9, (3,)),), tmp_path / "apart.pte", weights_apart=True)
    (weights,) = tmp_path.glob("*.ptd")
    whole = weights.read_bytes()
    for end in range(0, len(whole) - 4, len(whole) // 40):
        weights.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=weights.name):
            xir.load(path, data=[weights])
    random = Random(0)
    for _ in range(200):
        changed = bytearray(whole)
        changed[random.randrange(8, 600)] = random.randrange(256)
        weights.write_bytes(changed)
        with suppress(FormatError):
            xir.load(path, data=[weights])
    weights.write_bytes(whole)
    with pytest.raises(FormatError, match="is in another file of weights as well"):
        xir.load(path, data=[weights, weights])
    weights.write_bytes(whole[:60])
    assert aot.refuse(f"{path} --data {weights} -o better.pte").startswith(f"{path}: error: {weights}: ")


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    path = stock_file(nn.Embedding(9, 8), (torch.tensor([1]),), tmp_path / "apart.pte", weights_apart=True)
    (tmp_path / "other").mkdir()
    stock_file(nn.Embedding(8, 9), (torch.tensor([1]),), tmp_path / "other/apart.pte", weights_apart=True)
    (weights,) = (tmp_path / "other").glob("*.ptd")
    with pytest.raises(FormatError, match="has another type or shape in its file of weights"):
        xir.load(path, data=[weights])


def test_why_a_better_way_is_not_taken_is_one_line(tmp_path: Path, aot: Tool) -> None:
    """In bfloat16 a delegate rounds once where kernels round after each op."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16)).bfloat16()
    path = stock_file(model, (torch.randn(2, 8).bfloat16(),), tmp_path / "bf16.pte", delegates=False)
    said = aot(f"{path} -o better.pte --no-stock --cpu any").splitlines()[0]
    assert "better.pte: nothing is optimised (the whole program: outputs of 'forward' in call 1" in said
    assert "delegates" not in said, "it has none"


def test_a_lock_fails_with_the_reason_for_a_worse_way(tmp_path: Path, aot: Tool) -> None:
    path = stock_file(Attention(), (torch.randn(1, 6, 16),), tmp_path / "stock.pte")
    command = f"{path} -o {tmp_path}/better.pte --no-stock --lock {tmp_path}/the.lock"
    aot(command)
    aot(f"{command} --max-difference 0", code=1)
    first, *facts = aot.err.splitlines()
    assert "better.pte: its delegates alone are optimised (the whole program: output" in first
    assert "where 0 is allowed (--max-difference)" in first
    worse = next(
        line for line in facts if "the.lock:" in line and ": error: delegates forward XnnpackBackend: 1" in line
    )
    assert worse.endswith(" more passes")
    assert worse.count("; ") < 8


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_kernels_of_a_quantized_file_without_delegates_become_some(tmp_path: Path, aot: Tool) -> None:
    """It keeps its conversions where integers would round anew."""
    importlib.import_module("executorch.kernels.quantized")  # what converts in stock's runtime
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.Hardswish(), nn.Conv2d(16, 8, 3), nn.SiLU())
    path = stock_file(model, (torch.randn(1, 8, 24, 24),), tmp_path / "q8.pte", delegates=False, quantized=True)
    said = aot(f"{path} -o {tmp_path}/better.pte").splitlines()[0]
    assert "better.pte: the whole program with its conversions is optimised (the whole program: outputs of" in said
    assert "delegates alone" not in said, "it has none"
    assert xir.load(path).num_delegates == 0
    assert xir.load(tmp_path / "better.pte").num_delegates > 0


def test_a_file_is_not_made_slower_by_prediction(tmp_path: Path, aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16))
    path = stock_file(model, (torch.randn(2, 8),), tmp_path / "stock.pte")

    def predicted(program: xir.ExecutorchProgram, *_: object, **__: object) -> float:
        return 9.0 if program.passes else 5.0

    monkeypatch.setattr("xir.tools.aot.attempts.predicted_microseconds", predicted)
    said = aot(f"{path} -o better.pte --cpu zen4 --no-stock").splitlines()[0]
    assert "nothing is optimised (the whole program: it is predicted to take 9.0 \N{MICRO SIGN}s for 5.0" in said
    assert xir.load(tmp_path / "better.pte").num_delegates == xir.load(path).num_delegates


def test_two_threads_count(tmp_path: Path, aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file would lose more than a tenth on them, and more than it gains on one, it stays what it is."""
    path = stock_file(nn.Linear(8, 16), (torch.randn(2, 8),), tmp_path / "stock.pte", delegates=False)
    for threads, more, is_taken in (("", 1.05, True), ("", 1.2, False), ("--threads 2", 1.05, False)):

        def predicted(
            program: xir.ExecutorchProgram, _: object, runtime: object, threads: int, more: float = more
        ) -> float:
            after = 4.9 if threads == 1 else 5.0 * more
            return after if program.passes else 5.0

        monkeypatch.setattr("xir.tools.aot.attempts.predicted_microseconds", predicted)
        said = aot(f"{path} -o {tmp_path}/better.pte --cpu zen4 --no-stock {threads}").splitlines()[0]
        times = f"{5 * more:.1f} \N{MICRO SIGN}s for 5.0 \N{MICRO SIGN}s"
        why = f"it is predicted to take {times} on AMD EPYC, Zen 4, 2 threads"
        assert (why in said) != is_taken
        assert (xir.load(tmp_path / "better.pte").num_delegates == 1) == is_taken


def test_what_nodes_take_on_two_threads(tmp_path: Path) -> None:
    """A large one half and a wait, a small one its time on one thread and what it takes to hand it over."""
    profile = load_profile("zen4")
    for size, is_divided in ((8, False), (2048, True)):
        path = stock_file(nn.Linear(size, size), (torch.randn(2, size),), tmp_path / f"{size}.pte")
        program = xir.load(path)
        one, two = (predicted_microseconds(program, profile, threads=threads) for threads in (1, 2))
        assert (two < 0.6 * one) == is_divided
        if not is_divided:
            assert two - one == pytest.approx(0.3), "one node"


@pytest.mark.parametrize("runtime", ["xir", "stock"])
def test_a_file_is_slower_in_neither_runtime(
    runtime: str, tmp_path: Path, aot: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stock_file(nn.Linear(8, 16), (torch.randn(2, 8),), tmp_path / "stock.pte", delegates=False)

    def predicted(program: xir.ExecutorchProgram, profile: object, outside_in: str, threads: int) -> float:
        return 9.0 if program.passes and outside_in == runtime else 5.0

    monkeypatch.setattr("xir.tools.aot.attempts.predicted_microseconds", predicted)
    said = aot(f"{path} -o better.pte --cpu zen4 --no-stock").splitlines()[0]
    where = "AMD EPYC, Zen 4" + (" in stock ExecuTorch" if runtime == "stock" else "")
    assert f"for 5.0 \N{MICRO SIGN}s on {where};" in said


def test_convolutions_outside_take_much_longer_in_stock(tmp_path: Path) -> None:
    path = stock_file(nn.Conv2d(8, 8, 3), (IMAGE,), tmp_path / "stock.pte", delegates=False)
    program, profile = xir.load(path), load_profile("zen4")
    in_xir, in_stock = (predicted_microseconds(program, profile, each) for each in ("xir", "stock"))
    products = 8 * 4 * 4 * 8 * 9
    assert in_stock - in_xir == pytest.approx((3.5 - 0.03) * products / 1e3)


def test_a_file_grows_no_more_than_it_may(tmp_path: Path, aot: Tool) -> None:
    """A number that is as large as a tensor once it is folded."""
    model = Function(lambda x: x + torch.arange(40_000.0).sin())
    path = stock_file(model, (torch.randn(40_000),), tmp_path / "stock.pte", delegates=False)
    small = tmp_path / "small.pte"
    aot(f"{path} -o {small} --max-growth 0 --no-stock")
    assert small.stat().st_size <= path.stat().st_size + (16 << 10)
