"""Files of stock ExecuTorch whose kernels and delegates become one program again, and compute what they did."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from api.stock_files import IMAGE, assert_same, remade, stock_file
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from reference import stock
from reference.modules import Calling, Function
from reference.planting import planted
from reference.runtimes import both, load_stock
from reference.tools import Tool
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

import xir
from xir.cost.profile import load_profile
from xir.cost.work import INTEGER_KERNELS
from xir.emitter import FormatError
from xir.ir.remarks import Remark
from xir.lock.predicted import knowing_most, predicted_microseconds
from xir.runtime import Runtime, XirMissingDataError
from xir.runtime.same_results import MethodCall, drawn_inputs, sameness

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")


def attention(m: Any, x: Tensor) -> Tensor:
    """Attention over a window that hides what comes later, with a norm before and a residual sum behind."""
    q, k, v = m.qkv(m.norm(x)).view(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return x + m.out(mixed.transpose(1, 2).reshape(1, 6, 16))


def ordered(m: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs in channels-last memory: of a convolution, and of a kernel."""
    y = m.conv(x.to(memory_format=torch.channels_last)).contiguous(memory_format=torch.channels_last)
    return y, y.mean((2, 3)), x.cumsum(1).contiguous(memory_format=torch.channels_last)


def scaled(m: Any, x: Tensor) -> Tensor:
    """Sums of what two delegates compute, times a constant on integers, as of ConvNeXt's blocks."""
    y = m.first(x)
    return y + m.scale * m.last(m.norm(y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


def convnext(m: Any, x: Tensor) -> Tensor:
    """A block whose linear layers are on images whose channels are last, between convolutions."""
    y = m.norm(m.depthwise(m.stem(x)).permute(0, 2, 3, 1))
    return m.stem(x) + m.narrow(F.gelu(m.wide(y))).permute(0, 3, 1, 2)


ATTENTION = Calling(attention, norm=nn.LayerNorm(16), qkv=nn.Linear(16, 48), out=nn.Linear(16, 16))
ORDERED = Calling(ordered, conv=nn.Conv2d(8, 6, 3))
SCALED = Calling(
    scaled, first=nn.Conv2d(8, 6, 1), norm=nn.LayerNorm(6), last=nn.Conv2d(6, 6, 1), scale=torch.rand(6, 1, 1)
)
CONVNEXT = Calling(
    convnext,
    stem=nn.Conv2d(8, 8, 3, padding=1),
    depthwise=nn.Conv2d(8, 8, 3, padding=1, groups=8),
    norm=nn.LayerNorm(8),
    wide=nn.Linear(8, 16),
    narrow=nn.Linear(16, 8),
)
WINDOW = torch.randn(1, 6, 16)
LOOKED = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 12), nn.LayerNorm(12), nn.Linear(12, 4))
"""Weights of a kernel outside, of delegates, and of a kernel between them."""
ROWS = torch.randint(0, 9, (3,))

MODELS: dict[str, tuple[nn.Module, Tensor]] = {
    "attention": (ATTENTION, WINDOW),
    "attention without a mask": (
        Function(lambda q: F.scaled_dot_product_attention(q, q * 2, q.sin())),
        torch.randn(1, 2, 5, 8),
    ),
    # Each of its steps is divided in two by stock.
    "lstm": (Calling(lambda m, x: m.cells(x)[0], cells=nn.LSTM(5, 7, batch_first=True)), torch.randn(1, 3, 5)),
    "views": (
        Function(lambda x: torch.cat([x.view(4, 6).abs(), x.view(4, 6).exp()]).view(6, 8).T),
        torch.randn(24),
    ),
    "image": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten()), IMAGE),
    "channels last": (
        nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Upsample(scale_factor=2), nn.Flatten()),
        IMAGE.to(memory_format=torch.channels_last),
    ),
    # Which stock computes outside as batch norms of one sample.
    "instance norm": (
        nn.Sequential(nn.Conv2d(8, 6, 3), nn.InstanceNorm2d(6, affine=True), nn.ReLU(), nn.Conv2d(6, 4, 1)),
        IMAGE,
    ),
    "integers": (Function(lambda x: (x * 3 // 2).clamp(max=40).sum(-1)), torch.randint(0, 50, (3, 4))),
}
PORTABLE = {"attention without a mask", "views", "image", "integers"}
"""Of these `make test` takes the file without delegates, of the others the one with them; of what has another order in
memory both."""


def form(name: str, delegates: bool) -> Any:
    is_quick = delegates != (name in PORTABLE) or name == "channels last"
    return pytest.param(name, delegates, marks=() if is_quick else pytest.mark.exhaustive)


@pytest.mark.parametrize(("name", "delegates"), [form(name, each) for name in MODELS for each in (True, False)])
def test_a_file_of_stock_is_compiled_once_more(name: str, delegates: bool, tmp_path: Path) -> None:
    model, x = MODELS[name]
    path = stock_file(model, (x,), tmp_path / "stock.pte", delegates=delegates)
    program = remade(path)
    assert program.num_delegates == (name != "integers")
    calls = [((x * factor).to(x.dtype),) for factor in (1, 2, 3)]
    assert_same(path, *calls, stock=not program.missing_kernels)


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
            torch.testing.assert_close(new.execute(inputs), old.execute(inputs), rtol=1e-5, atol=1e-5)


def test_kernels_without_an_op_are_called_as_before(tmp_path: Path) -> None:
    model, x = Function(lambda x: torch.fmax(x, x.sin()).abs().cumprod(0) + x), torch.rand(3, 4)
    xir.to_edge(torch.export.export(model, (x,))).to_executorch().save(tmp_path / "portable.pte")
    program = xir.load(tmp_path / "portable.pte").optimized(xir.XnnpackPartitioner())
    assert program.kernel_names == ["aten::fmax.out", "aten::cumprod.out"]
    result = Runtime.get().load_program(program.buffer).load_method().execute([x])[0]
    torch.testing.assert_close(result, model(x))


def added(x: Tensor, kept: Tensor) -> Tensor:
    kept.add_(x.exp())
    return kept * 2


RAISED: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "it branches or loops": (
        lambda x: torch.cond(x.sum() > 0, lambda y: y.relu(), lambda y: y.sin(), (x,)),
        (torch.randn(4, 5),),
    ),
    # Of `nonzero` ExecuTorch says that its columns lie one behind the other, and has no copy into that order.
    "no kernel copies an output into the order [1, 0]": (lambda x: ((x.exp() > 1).nonzero(), x.exp()), (IMAGE,)),
    "it changes an input": (added, (torch.randn(2, 3), torch.randn(2, 3))),
}
"""Why methods stay as they are."""


@pytest.mark.parametrize("why", RAISED)
def test_a_method_that_cannot_be_raised_says_why(why: str, folder: Path, aot: Tool) -> None:
    """The command says what the API does. Each call gets inputs of its own, as the second file would otherwise see what
    the first has left there."""
    function, inputs = RAISED[why]
    path = stock_file(Function(function), inputs, folder / "stock.pte")
    message = f"raise-from-pte: method forward stays as it is: {why}"
    assert [each.message for each in xir.load(path).optimized(xir.XnnpackPartitioner()).remarks] == [message]
    said = aot(f"{path} -o better.pte --no-stock").splitlines()
    assert said[0] == message
    assert any("better.pte: the same outputs" in line for line in said)
    if why != "it changes an input":
        assert_same(path, inputs, xir=False)  # stock writes rows where columns are, as before


def test_what_is_left_in_inputs_is_compared(tmp_path: Path) -> None:
    """What is changed is an output as well, of both files."""
    inputs = (torch.randn(2, 3), torch.randn(2, 3))
    path = stock_file(Function(added), inputs, tmp_path / "stock.pte")
    other = stock_file(Function(lambda x, kept: (kept + x.exp(), (kept + x.exp()) * 2)), inputs, tmp_path / "other.pte")
    found = sameness(path, other, [MethodCall("forward", inputs, "call 1")], in_stock=False)
    assert found.difference > 1e-3
    assert found.where == "what is left in input 1 of 'forward' in call 1"


def test_numbers_that_are_returned_in_any_case(tmp_path: Path) -> None:
    """Such as sizes, and a number that is given."""
    model = Function(lambda x, k: (x.exp() * k, x.shape[1], True, -1.5, k, None))
    x = torch.randn(3, 4)
    path = stock_file(model, (x, 7), tmp_path / "stock.pte")
    remade(path)
    for run in both(path.with_name("better.pte").read_bytes()):
        first, *others = run([x, 7])
        torch.testing.assert_close(first, model(x, 7)[0])
        assert others == [4, True, -1.5, 7, None]


def test_inputs_that_are_numbers_are_given_as_the_file_has_them(folder: Path, aot: Tool) -> None:
    """No other are taken, so a method would run on none that are drawn; open sizes are drawn beside them."""
    model = Function(lambda x, k, factor, flag: x.exp() * k + factor if flag else x)
    inputs = (torch.randn(2, 3), 3, 1.5, True)
    for dims in (None, (({0: torch.export.Dim("n", min=1, max=4)}, None, None, None),)):
        path = stock_file(model, inputs, folder / "stock.pte", dynamic_shapes=dims)
        aot(f"{path} -o better.pte --no-stock")
        assert_same(path, inputs)


def test_inputs_that_callers_place_stay_theirs(tmp_path: Path) -> None:
    plan = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    path = stock_file(ATTENTION, (WINDOW,), tmp_path / "stock.pte", memory_planning_pass=plan)
    method, (want,) = Runtime.get().load_program(path).load_method(), load_stock(path).forward([WINDOW])
    torch.testing.assert_close(method.execute([WINDOW])[0], want)
    method.bind_output(0, placed := torch.empty_like(want))
    method.execute([WINDOW])
    torch.testing.assert_close(placed, want)
    program = remade(path)
    assert program.num_delegates == 1
    tensors = [line for line in str(program).splitlines() if " = pte.tensor tensor<1x6x16xf32>" in line]
    assert "planned" not in "".join(tensors)


def test_constants_between_delegates_keep_their_scales(tmp_path: Path) -> None:
    path = stock_file(SCALED, (IMAGE,), tmp_path / "q8.pte", quantized="static")
    assert xir.load(path).num_delegates > 1
    program = remade(path)
    assert (program.num_delegates, program.kernel_names) == (1, [])
    assert_same(path, [IMAGE])
    # By a profile without kernels on integers they count, as on fp32.
    measured = load_profile("zen3")
    floats = {name: cost for name, cost in measured.kernels.items() if name not in INTEGER_KERNELS}
    blind = replace(measured, kernels=floats)
    estimated = predicted_microseconds(program, blind)
    assert estimated > 0.7 * predicted_microseconds(program, measured)
    # Such a profile decides nothing beside one that has them.
    assert knowing_most([blind, measured], [program]) == [measured]
    assert knowing_most([blind], [program]) == [blind]


@pytest.mark.parametrize(
    "model", [nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 8, 3)), CONVNEXT]
)
def test_convolutions_that_quantize_their_input_at_run_time(model: nn.Module, tmp_path: Path) -> None:
    """Of some images between them ExecuTorch says that they are [N, C, H, W] where the nodes compute [N, H, W, C], or
    the reverse."""
    path = stock_file(model, (IMAGE,), tmp_path / "stock.pte", quantized="dynamic")
    assert "!xnnpack.qd<i8, 3>" in str(remade(path))
    for factor in (1, 3):
        given = [factor * IMAGE]
        # A number in the middle between two integers may become either.
        near = 0.01 * float(load_stock(path).forward(given)[0].abs().max())
        for new in (path, tmp_path / "better.pte"):
            assert_same(path, given, new=new, atol=near)


@pytest.mark.parametrize("delegates", [True, False], ids=["delegated", "portable"])
def test_an_output_keeps_its_order_in_memory(delegates: bool, tmp_path: Path) -> None:
    path = stock_file(ORDERED, (IMAGE,), tmp_path / "stock.pte", delegates=delegates)
    remade(path)
    old, new = (Runtime.get().load_program(each).load_method() for each in (path, tmp_path / "better.pte"))
    orders = [each.dim_order for each in old.metadata.outputs]
    assert orders == [each.dim_order for each in new.metadata.outputs]
    assert orders.count((0, 2, 3, 1)) == 2
    assert_same(path, [IMAGE], check_stride=True)


FAULTS = {
    "outputs lose their order in memory": (
        ORDERED,
        "transforms.pte.raise_from_pte",
        "if isinstance(each.owner, pte.TensorOp) else {}",
        "if False else {}",
    ),
    "a zero point": (SCALED, "emitter.xnnpack.types", 'tree["zero_point"])', "0)"),
    "the scales of channels": (SCALED, "emitter.xnnpack.types", 'path, "<f4")', 'path, "<f4")[::-1]'),
}
"""Mistakes in reading files, which are found where files are compared: a model, a module, what stands there, and what
stands there instead. `bench/planted_faults.toml` has those that change what a program computes."""


@pytest.mark.parametrize("name", FAULTS)
def test_the_comparison_finds_planted_mistakes(name: str, tmp_path: Path) -> None:
    """Both files run as they are written: what they hold is not read by what made the new one."""
    model, *mistake = FAULTS[name]
    old = stock_file(model, (IMAGE,), tmp_path / "old.pte", quantized="static" if model is SCALED else None)
    with planted(*mistake):
        xir.load(old).optimized(xir.XnnpackPartitioner()).save(tmp_path / "new.pte")
    found = sameness(old, tmp_path / "new.pte", [MethodCall("forward", [IMAGE], "call 1")], in_stock=False)
    assert not found.difference <= 1e-2


def test_an_input_is_read_under_the_name_of_its_view(tmp_path: Path) -> None:
    """Stock leaves out the view, whose result lies where the input does."""
    model = Function(lambda i: F.embedding(i.view(6), torch.arange(30.0).view(10, 3)) * 2)
    path = stock_file(model, (torch.zeros(2, 3, dtype=torch.long),), tmp_path / "stock.pte")
    method, stock = Runtime.get().load_program(path).load_method(), load_stock(path)
    for number in (3, 7, 1):
        given = torch.full((2, 3), number)
        assert torch.equal(method.execute([given])[0], stock.forward([given])[0])
        assert torch.equal(method.execute([given])[0], model(given))


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file of stock's with delegates and kernels, and that of its weights."""
    path = stock_file(LOOKED, (ROWS,), tmp_path_factory.mktemp("apart") / "apart.pte", weights_apart=True)
    (weights,) = path.parent.glob("*.ptd")
    return path, weights


def test_weights_of_another_file_become_its_own(apart: tuple[Path, Path], folder: Path, aot: Tool) -> None:
    path, weights = apart
    aot(f"{path} -o better.pte", code=1)
    assert "no .ptd file was given" in aot.err
    aot(f"{path} --data {weights} -o better.pte --no-stock")
    for run in both((folder / "better.pte").read_bytes()):
        torch.testing.assert_close(run([ROWS])[0], LOOKED(ROWS))


def test_weights_that_are_wrong(apart: tuple[Path, Path], folder: Path, aot: Tool) -> None:
    """`test_hostile_files.py` damages more of them."""
    path, weights = apart
    with pytest.raises(FormatError, match="is in another file of weights as well"):
        xir.load(path, data=[weights, weights])
    (folder / "cut.ptd").write_bytes(weights.read_bytes()[:60])
    assert aot.refuse(f"{path} --data cut.ptd -o better.pte").startswith(f"{path}: error: cut.ptd: ")
    (folder / "other").mkdir()
    for shape, place in (((9, 8), "own.pte"), ((8, 9), "other/own.pte")):
        stock_file(nn.Embedding(*shape), (torch.tensor([1]),), folder / place, weights_apart=True)
    with pytest.raises(FormatError, match="has another type or shape in its file of weights"):
        xir.load("own.pte", data=[*Path("other").glob("*.ptd")])


def adapted(m: Any, x: Tensor) -> Tensor:
    """A large layer, which other programs have as well, with a small correction of its own."""
    x = m.table(x)
    return torch.cumsum(m.shared(x) + m.up(m.down(x)) * 2, 1)


def test_weights_that_files_share_stay_shared(folder: Path, aot: Tool) -> None:
    """Two programs with one file of weights are two programs with that file, untouched."""
    shared, x = nn.Linear(32, 32), torch.tensor([3, 5])
    down, up = nn.Linear(32, 2, bias=False), nn.Linear(2, 32, bias=False)
    model = Calling(adapted, table=nn.Embedding(9, 32), shared=shared, down=down, up=up).eval()
    unlifted = torch.export.export(model, (x,)).module()
    delegate_external_constants_pass_unlifted(
        unlifted, lambda node: "shared" if str(node.target).startswith("shared.") else None
    )
    program = stock.compiled(torch.export.export(unlifted, (x,)))
    path, weights, new = map(Path, ("old.pte", "shared.ptd", "new.pte"))
    path.write_bytes(program.buffer)
    program.write_tensor_data_to_file(".")
    before, matrix = weights.read_bytes(), shared.weight.detach().numpy().tobytes()
    assert matrix in before
    said = aot(f"{path} --data {weights} --data-apart -o {new}")
    assert "compared in xir's runtime and in stock ExecuTorch's" in said
    assert weights.read_bytes() == before
    assert matrix not in new.read_bytes()
    assert model.down.weight.detach().numpy().tobytes() in new.read_bytes()
    loaded = Runtime.get().load_program(new, data=[weights]).load_method()
    for results in (loaded.execute([x]), load_stock(new, weights).forward([x])):
        torch.testing.assert_close(results[0], model(x))
    with pytest.raises(XirMissingDataError):
        Runtime.get().load_program(new).load_method()
    assert aot.refuse(f"{path} --data-apart -o {new}").startswith("xir-aot: error: --data-apart is for the weights of")
    with pytest.raises(ValueError, match="give either that or data"):
        xir.load(path, data=[weights]).save(new, weights_apart=True, data=[weights])


def test_what_kernels_share_with_other_files_stays_shared(tmp_path: Path) -> None:
    """Tensors of a file of weights are named; one of another shape or with other elements is held."""
    files: list[Path] = []
    for seed in range(2):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 12))
        (tmp_path / str(seed)).mkdir()
        path = tmp_path / str(seed) / "apart.pte"
        files.append(stock_file(model, (ROWS,), path, delegates=False, weights_apart=True))
    (weights,), (others,) = (path.parent.glob("*.ptd") for path in files)
    program = xir.load(files[0], data=[weights])
    program.save(tmp_path / "same.pte", data=[weights])
    assert (tmp_path / "same.pte").stat().st_size <= files[0].stat().st_size
    program.save(tmp_path / "whole.pte", data=[others])
    assert abs((tmp_path / "whole.pte").stat().st_size - len(program.buffer)) < 1000


def test_why_a_better_way_is_not_taken_is_one_line(folder: Path, aot: Tool) -> None:
    """In bfloat16 a delegate rounds once where kernels round after each op."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16)).bfloat16()
    path = stock_file(model, (torch.randn(2, 8).bfloat16(),), folder / "bf16.pte", delegates=False)
    said = aot(f"{path} -o better.pte --no-stock --cpu any").splitlines()[0]
    assert "better.pte: nothing is optimised (the whole program: outputs of 'forward' in call 1" in said
    assert "delegates" not in said, "it has none"


def test_a_lock_fails_with_the_reason_for_a_worse_way(folder: Path, aot: Tool) -> None:
    path = stock_file(ATTENTION, (WINDOW,), folder / "stock.pte")
    command = f"{path} -o better.pte --no-stock --lock the.lock"
    aot(command)
    aot(f"{command} --max-difference 0", code=1)
    first, *facts = aot.err.splitlines()
    assert "better.pte: its delegates alone are optimised (the whole program: output" in first
    assert "where 0 is allowed (--max-difference)" in first
    said = ": error: delegates forward XnnpackBackend: 1"
    worse = next(line for line in facts if "the.lock:" in line and said in line)
    assert worse.endswith(" more passes")
    assert worse.count("; ") < 8


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_kernels_of_a_quantized_file_without_delegates_become_some(folder: Path, aot: Tool) -> None:
    """It keeps its conversions where integers would round anew."""
    importlib.import_module("executorch.kernels.quantized")  # what converts in stock's runtime
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.Hardswish(), nn.Conv2d(16, 8, 3), nn.SiLU())
    x = torch.randn(1, 8, 24, 24)
    path = stock_file(model, (x,), folder / "q8.pte", delegates=False, quantized="static")
    said = aot(f"{path} -o better.pte --no-stock").splitlines()[0]
    assert "better.pte: the whole program with its conversions is optimised (the whole program: outputs of" in said
    assert "delegates alone" not in said, "it has none"
    assert xir.load(path).num_delegates == 0
    assert xir.load("better.pte").num_delegates > 0
    assert_same(path, [x])


def test_a_file_is_not_made_slower_by_prediction(folder: Path, aot: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In neither runtime. It stays what it is where it would lose on two threads more than a tenth, and more than it
    gains on one."""
    path = stock_file(nn.Linear(8, 16), (torch.randn(2, 8),), folder / "stock.pte", delegates=False)
    second, two = "AMD EPYC, Zen 4", "AMD EPYC, Zen 4, 2 threads"
    for flags, after, said in (
        ("", {("xir", 1): 9.0}, f"9.0 µs for 5.0 µs on {second};"),
        ("", {("stock", 1): 9.0}, f"9.0 µs for 5.0 µs on {second} in stock ExecuTorch;"),
        ("", {(each, 2): 5.25 for each in ("xir", "stock")}, ""),
        ("", {(each, 2): 6.0 for each in ("xir", "stock")}, f"6.0 µs for 5.0 µs on {two}"),
        ("--threads 2", {(each, 2): 5.25 for each in ("xir", "stock")}, f"5.2 µs for 5.0 µs on {two}"),
    ):

        def predicted(
            program: xir.ExecutorchProgram, _: object, runtime: str, threads: int, after: Any = after
        ) -> float:
            return after.get((runtime, threads), 4.9) if program.passes else 5.0

        monkeypatch.setattr("xir.tools.aot.attempts.predicted_microseconds", predicted)
        first = aot(f"{path} -o better.pte --cpu zen4 --no-stock {flags}").splitlines()[0]
        why = f"nothing is optimised (the whole program: it is predicted to take {said}".replace("µ", "\N{MICRO SIGN}")
        assert (why in first) == bool(said), first
        assert xir.load("better.pte").num_delegates == (not said)


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


def test_convolutions_outside_take_much_longer_in_stock(tmp_path: Path) -> None:
    path = stock_file(nn.Conv2d(8, 8, 3), (IMAGE,), tmp_path / "stock.pte", delegates=False)
    program, profile = xir.load(path), load_profile("zen4")
    in_xir, in_stock = (predicted_microseconds(program, profile, each) for each in ("xir", "stock"))
    products = 8 * 4 * 4 * 8 * 9
    assert in_stock - in_xir == pytest.approx((3.5 - 0.03) * products / 1e3)


def test_a_file_grows_no_more_than_it_may(folder: Path, aot: Tool) -> None:
    """A number that is as large as a tensor once it is folded."""
    model = Function(lambda x: x + torch.arange(40_000.0).sin())
    path = stock_file(model, (torch.randn(40_000),), folder / "stock.pte", delegates=False)
    aot(f"{path} -o small.pte --max-growth 0 --no-stock")
    assert (folder / "small.pte").stat().st_size <= path.stat().st_size + (16 << 10)
