"""The cost report: which node takes what, by a profile whose figures are simple."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from reference.modules import Calling, Function
from reference.tools import Tool
from torch import Tensor, nn

import xir
from xir.cost.profile import WAIT, CostProfile, KernelCost
from xir.cost.work import FLOAT_KERNELS, KERNELS, Work
from xir.dialects import xnnpack
from xir.ir.walking import ops_in
from xir.tools.xir_aot import main
from xir.transforms.xnnpack.analysis.node_costs import PAD_RUN, SHORT_COLUMNS, SHORT_ROWS, work_of

BYTE = KernelCost(0, 1, 1, 1, 1, 1, 0, 0, held=1)
PROFILE = CostProfile("a test", "any", "none", (1 << 20, 1 << 24), dict.fromkeys(KERNELS, BYTE))


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """A profile by which a byte takes a nanosecond, and nothing else anything."""
    file = tmp_path / "bytes.toml"
    file.write_text(PROFILE.text(), encoding="utf-8")
    return str(file)


def lowered(model: nn.Module, *inputs: Tensor, **options: object) -> xir.EdgeProgram:
    exported = torch.export.export(model.eval(), inputs, **options)  # pyright: ignore[reportArgumentType]
    return xir.to_edge(exported).to_backend(xir.XnnpackPartitioner())


def works(model: nn.Module, *inputs: Tensor) -> list[Work | None]:
    nodes = ops_in(lowered(model, *inputs).module, xnnpack.NodeOp)
    return [work_of(node) for node in nodes if not isinstance(node, xnnpack.StaticReshapeOp)]


def attention(q: Tensor, k: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(1, 2), -1) @ k


def test_what_nodes_do() -> None:
    assert works(nn.Linear(8, 16), torch.ones(5, 8)) == [
        Work("gemm", 8, 5, 16, traffic=4 * 5 * (8 + 16), weights=4 * 8 * 16, row_bytes=4 * 8, column_bytes=4 * 8)
    ]
    assert works(nn.Linear(8, 16), torch.ones(1, 8)) == [
        Work("gemv", 8, columns=16, traffic=4 * (8 + 16), weights=4 * 8 * 16, row_bytes=4 * 8, column_bytes=4 * 8)
    ]
    # Rows are computed together within an image and a group.
    (_, found, _) = works(nn.Conv2d(4, 6, 3, groups=2), torch.ones(2, 4, 5, 6))
    traffic, row = 4 * (2 * 4 * 30 + 2 * 6 * 12), 4 * 6 * 4
    assert found == Work("igemm", 18, 12, 3, 4, traffic, weights=4 * 6 * 18, row_bytes=row, column_bytes=4 * 18)
    (_, found, _) = works(nn.Conv2d(4, 4, 3, groups=4), torch.ones(1, 4, 5, 6))
    assert found == Work("dwconv", 9, 12, 4, traffic=4 * 4 * (30 + 12))
    # Along the height a stride skips rows, which are read one behind the other all the same.
    (_, found, _) = works(nn.Conv2d(4, 4, (2, 1), (2, 1), groups=4), torch.ones(1, 4, 6, 6))
    assert found == Work("dwconv", 3, 18, 4, traffic=4 * 4 * (36 + 18))
    (_, found, _) = works(nn.Conv2d(4, 4, 3, 2, groups=4), torch.ones(1, 4, 5, 7))
    assert found == Work("dwconv_strided", 9, 6, 4, traffic=4 * 4 * (35 + 6))
    # What the first cache does not hold is read again for each pixel: 25 taps of 200 channels, and what is under them.
    (_, found, _) = works(nn.Conv2d(200, 200, 5, groups=200), torch.ones(1, 200, 6, 6))
    assert found == Work("dwconv", 25, 4, 200, traffic=4 * 200 * (36 + 4), reread=4 * 2 * 4 * 25 * 200)
    scores, softmax, mixed = works(Function(attention), torch.ones(2, 3, 8), torch.ones(2, 5, 8))
    assert scores == Work("bmm", 8, 3, 5, 2, traffic=4 * 2 * (24 + 15), weights=4 * 80)
    assert softmax == Work("softmax", 6, traffic=8 * 30)
    assert mixed == Work("bmm", 5, 3, 8, 2, traffic=4 * 2 * (15 + 24), weights=4 * 80)


def test_a_padding_joins_dimensions_that_do_not_grow() -> None:
    """Rows where the height grows alone, pixels where the width does, rows of channels where they do."""
    x = torch.ones(2, 3, 4, 5)
    for pads, runs, result in (
        ((0, 0, 0, 0, 1, 1), 2 * 5, 2 * 5 * 4 * 5),
        ((0, 0, 1, 0), 2 * 3 * 5, 2 * 3 * 5 * 5),
        ((2, 1), 2 * 3 * 4, 2 * 3 * 4 * 8),
    ):
        assert works(Function(lambda x, pads=pads: nn.functional.pad(x, pads)), x) == [
            Work("copy", PAD_RUN * runs, traffic=4 * (x.numel() + result))
        ]


def quantized(model: nn.Module, *inputs: Tensor) -> xir.EdgeProgram:
    program = xir.quantize(model.eval(), inputs, [inputs])
    return xir.to_edge(program).to_backend(xir.XnnpackPartitioner())


def small(m: Any, x: Tensor) -> Tensor:
    """With a node of each kernel on integers."""
    x = nn.functional.hardswish(m.taps(torch.max_pool2d(m.first(x), 2)))
    x = m.point(m.strided(x))
    return m.last((x + x.roll(1, 2)).mean((2, 3)))


def test_what_nodes_on_integers_do() -> None:
    """Kernels of their own, a byte for each number, and 9 taps where fp32 has a kernel of 4; copies are copies."""
    torch.manual_seed(0)
    first, taps = nn.Conv2d(4, 8, 3, 2, padding=1), nn.Conv2d(8, 8, (4, 1), groups=8)
    layers = {"first": first, "taps": taps, "strided": nn.Conv2d(8, 8, 5, 2, padding=2, groups=8)}
    model = Calling(small, **layers, point=nn.Conv2d(8, 16, 1), last=nn.Linear(16, 10))
    module = quantized(model, torch.randn(1, 4, 28, 28)).module
    nodes = [node for node in ops_in(module, xnnpack.NodeOp) if not isinstance(node, xnnpack.StaticReshapeOp)]
    found = [work_of(node) for node in nodes]
    assert None not in found
    assert [each for each in found if each and each.kernel.startswith("qs8")] == [
        Work("qs8_convert", traffic=5 * 4 * 28 * 28),
        # Two pixels of 4 channels are one of 8, under 3 rows of 2.
        Work(
            "qs8_igemm",
            48,
            14 * 14,
            8,
            traffic=4 * 28 * 28 + 8 * 14 * 14,
            weights=8 * 48,
            row_bytes=4 * 28,
            column_bytes=48,
        ),
        Work("qs8_max_pool", 4 * 8 * 49, traffic=8 * (14 * 14 + 49)),
        Work("qs8_dwconv", 9, 28, 8, traffic=8 * (49 + 28)),
        Work("qs8_table", traffic=2 * 8 * 28),
        Work("qs8_dwconv_strided", 25, 8, 8, traffic=8 * (28 + 8)),
        Work("qs8_gemm", 8, 8, 16, traffic=8 * (8 + 16), weights=8 * 16, row_bytes=8, column_bytes=8),
        Work("qs8_elementwise", 1, traffic=3 * 8 * 16),
        Work("qs8_reduce", 8, traffic=9 * 16),
        Work("qs8_gemv", 16, columns=10, traffic=26, weights=160, row_bytes=16, column_bytes=16),
        Work("qs8_convert", traffic=5 * 10),
    ]


def mish(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """A chain of functions, which is one table of integers; what it reads is read as fp32 numbers, too."""
    x = m.first(x)
    return m.last(nn.functional.mish(x)), x


def test_a_chain_of_functions_is_one_table(profile: str) -> None:
    torch.manual_seed(0)
    model = Calling(mish, first=nn.Linear(8, 8), last=nn.Linear(8, 8))
    (method,) = quantized(model, torch.randn(10, 8)).cost_report(profile).methods
    assert method.unknown == ()
    assert [(line.op, round(1e3 * line.microseconds)) for line in method.lines] == [
        ("convert", 5 * 80),
        ("fully_connected", 80 + 80 + 64),
        ("convert", 5 * 80),
        ("unary exp", 2 * 80),
        ("fully_connected", 80 + 80 + 64),
        ("convert", 5 * 80),
    ]


def test_a_kernel_that_the_profile_lacks_is_named(profile: str, tmp_path: Path) -> None:
    program = quantized(nn.Conv2d(8, 8, 3, groups=8), torch.randn(1, 8, 9, 9))
    floats = tmp_path / "floats.toml"
    kernels = dict.fromkeys(FLOAT_KERNELS, BYTE)
    floats.write_text(replace(PROFILE, kernels=kernels).text(), encoding="utf-8")
    (method,) = program.cost_report(str(floats)).methods
    assert method.unknown == (("xnnpack.convert", 2), ("xnnpack.depthwise_conv2d", 1))
    assert {line.op for line in method.lines} == {"static_transpose"}
    (method,) = program.cost_report(profile).methods
    assert method.unknown == ()
    assert {line.op for line in method.lines} == {"static_transpose", "convert", "depthwise_conv2d"}


def moves(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return x.transpose(1, 2), x.transpose(0, 1), torch.cat([x, y], 2), x[:, 1:3]


def test_moves_count_their_runs() -> None:
    """Of elements that stay neighbours; where none do, the move is a transposition."""
    x = torch.ones(3, 4, 5)
    assert set(works(Function(moves), x, x)) == {
        # Three squares that are not full.
        Work("transpose", 3 * SHORT_ROWS, traffic=480),
        Work("copy", 12, traffic=480),
        Work("copy", 24, traffic=960),
        Work("copy", 3, traffic=240),
    }


@pytest.mark.parametrize(
    ("rows", "columns", "elements"),
    [(16, 24, 16 * 24), (16, 3, 2 * SHORT_COLUMNS), (3, 16, 2 * SHORT_ROWS),
     (17, 16, 2 * 2 * 64 + 2 * SHORT_ROWS), (16, 17, 2 * 2 * 64 + 2 * SHORT_COLUMNS)],
)  # fmt: skip
def test_transposes_move_squares(rows: int, columns: int, elements: int) -> None:
    """Those that are not full along the result's last dimension, which is the operand's rows, take the longest."""
    (found,) = works(Function(lambda x: x.transpose(1, 2)), torch.ones(1, rows, columns))
    assert found == Work("transpose", elements, traffic=8 * rows * columns)


@pytest.mark.parametrize(("readers", "copied"), [(1, []), (2, [2 * 4 * 24 / 1e3])])
def test_reshapes_copy_what_several_nodes_read(readers: int, copied: list[float], profile: str) -> None:
    def reshaped(x: Tensor) -> Tensor:
        y = (x + 1).reshape(8, 3)
        return y.tanh() * y.sigmoid() if readers == 2 else y.tanh()

    (method,) = lowered(Function(reshaped), torch.ones(4, 6)).cost_report(profile).methods
    assert [line.microseconds for line in method.lines if line.op == "static_reshape"] == copied


@pytest.mark.parametrize("shares", [True, False])
def test_weights_that_are_read_again_are_still_in_the_cache(shares: bool, tmp_path: Path) -> None:
    """A cache of one and a half times one product's weights holds those of a cell, and not those of two."""
    weights, tensors = 4 * 64 * 64, 3 * 2 * 4 * 64
    free = KernelCost(0, 0, 0, 0, 0, 0, 0, 0)
    kernels = {**dict.fromkeys(KERNELS, free), "gemv": replace(free, weights=1.0)}
    file = tmp_path / "held.toml"
    own = weights * 3 // 2
    file.write_text(replace(PROFILE, caches=(own, 1 << 24), kernels=kernels).text(), encoding="utf-8")
    first, second = (nn.Linear(64, 64, bias=False) for _ in range(2))
    cell = nn.Sequential(first, nn.Tanh(), first if shares else second)
    (method,) = lowered(cell, torch.ones(1, 64)).cost_report(str(file)).methods
    away = 0 if shares else 2 * weights * (1 - own / (2 * weights + tensors))
    assert 1e3 * method.microseconds == pytest.approx(away)


def test_arithmetic_counts_its_loops() -> None:
    """As many dimensions are one loop as operands are broadcast alike in."""
    arithmetic = Function(lambda x, y, z: (x + x, x * y, x - z))
    found = works(arithmetic, torch.ones(3, 4, 5), torch.ones(3, 4, 1), torch.ones(4, 5))
    assert [(each.kernel, each.inner) for each in found if each] == [
        ("elementwise", 1),
        ("elementwise", 12),
        ("elementwise", 3),
    ]


def test_what_is_outside_is_named(profile: str) -> None:
    report = lowered(Function(lambda x: torch.cumsum(torch.sigmoid(x), 0)), torch.ones(10, 10)).cost_report(profile)
    (method,) = report.methods
    assert method.unknown == (("edge.cumsum", 1),)
    assert [(line.op, line.microseconds) for line in method.lines] == [("unary sigmoid", 0.8)]
    assert "not predicted: 1 × edge.cumsum" in report.text()


def test_open_sizes_count_at_their_largest(profile: str) -> None:
    shapes = ({0: torch.export.Dim("batch", min=1, max=50)},)
    report = lowered(nn.Sigmoid(), torch.ones(2, 10), dynamic_shapes=shapes).cost_report(profile)
    assert report.microseconds == pytest.approx(8 * 500 / 1e3)


class Widening(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(8, 100), nn.Linear(100, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.narrow(torch.sigmoid(self.wide(x)).reshape(10, 100)) + x


def test_the_peak_names_its_op(profile: str) -> None:
    """While the sigmoid runs there are its operand and its result, which is reshaped in place, and the input."""
    (method,) = lowered(Widening(), torch.ones(10, 8)).cost_report(profile).methods
    assert method.peak is not None
    assert (method.peak.bytes, method.peak.op) == (4 * (2 * 1000 + 80), "unary sigmoid")
    assert method.peak.place.endswith(f"{Path(__file__).name}:{Widening.forward.__code__.co_firstlineno + 1}")


def test_composed_nodes_are_one_line() -> None:
    torch.manual_seed(0)
    model, image = nn.Conv2d(64, 64, 3, padding=1).eval(), torch.randn(1, 64, 56, 56)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    direct, composed = (
        edge.to_backend(xir.XnnpackPartitioner(cpu=cpu)).cost_report("zen4").methods[0] for cpu in ("x86", "zen4")
    )
    (line,) = (line for line in composed.lines if line.nodes > 1)
    assert line.op == f"conv2d as F(4x4), {line.nodes} nodes"
    (replaced,) = (line for line in direct.lines if line.op == "conv2d")
    assert line.microseconds < replaced.microseconds
    assert direct.microseconds - composed.microseconds == pytest.approx(replaced.microseconds - line.microseconds)


def test_threads_share_what_takes_time(profile: str) -> None:
    """And wait for each other at the end of each node, where the profile does not say how long."""
    edge = lowered(Function(lambda x: torch.sigmoid(torch.tanh(x))), torch.ones(1000, 100))
    one, two, four = (edge.cost_report(profile, threads) for threads in (1, 2, 4))
    assert (one.threads, two.threads) == (1, 2)
    assert one.microseconds == edge.cost_report(profile).microseconds > 0
    for report, threads in ((two, 2), (four, 4)):
        assert report.microseconds == pytest.approx(one.microseconds / threads + 2 * WAIT / 1e3)


def test_xir_aot_prints_it(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On one thread it is an example of docs/cost_profiles.md."""
    lines = Tool(main, capsys)(f"-m linear -d --cpu {profile} --threads 3 --cost-report -o {tmp_path}").splitlines()
    assert lines[0] == "forward: 0.00 ms predicted on 3 threads of a test"
    assert any("fully_connected" in line and "100.0%" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--no-delegate --cost-report", "a cost report predicts what delegates take, and there are none"),
        ("-d --cost-report", "--cost-report predicts for one processor: --cpu native, apple-m1, "),
        ("-d --threads -1", "threads is a number from 1 on, or 0 for what cpu says, not -1"),
        ("-d --threads two", "option 'threads' of --delegate: "),
        ("--no-delegate --threads 2", "--threads says what delegates take, and there are none"),
        ("-d --cpu x86 --cost-report", "--cost-report predicts for one processor: --cpu native"),
    ],
)
def test_wrong_arguments(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in Tool(main, capsys).refuse(f"-m linear {arguments}")
