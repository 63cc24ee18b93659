"""Costs are found again in times that were made of them, and `xir-tune` writes a profile that passes take."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from reference.tools import Tool

from xir.cost.native import installed_xnnpack
from xir.cost.profile import CostProfile, KernelCost, load_profile, parse_profile
from xir.cost.work import FLOAT_KERNELS, KERNELS, Kernel
from xir.device.session import RunTimes, Session
from xir.runtime import Runtime
from xir.tools import xir_tune
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass
from xir.tuning import measure, run, waiting
from xir.tuning.fit import fit, fit_all, fit_share
from xir.tuning.kept import SKIPPED
from xir.tuning.measure import Measured, Reading, apart, by_coverage, fewest, readings, repetitions, samples
from xir.tuning.samples import (
    AdditionSample,
    AttentionSample,
    ByRowSample,
    ConversionSample,
    ConvolutionSample,
    DepthwiseSample,
    DynamicConversionSample,
    DynamicProductSample,
    EnlargementSample,
    FunctionSample,
    MeanSample,
    PhasesSample,
    PoolingSample,
    Sample,
    SoftmaxSample,
    SwapSample,
    TableSample,
    TranspositionSample,
    program,
)

CACHES = (1 << 20, 12 << 20)
"""The last one holds none of the largest matrices that are measured, of 16 MB."""

TRUTH = CostProfile(
    "made up",
    "any",
    "none",
    CACHES,
    {
        **dict.fromkeys(KERNELS, KernelCost(0.0, 0.01, 0.02, 0.05, 0.0, 0.0, 150.0, 0.0)),
        "gemm": KernelCost(
            0.02, 0.004, 0.01, 0.02, 0.03, 0.05, 700.0, 1.0, 0.01, narrow_work=0.045, rows=6, columns=16, narrow=8
        ),
        "igemm": KernelCost(
            0.03, 0.001, 0.01, 0.02, 0.04, 0.06, 900.0, 2.0, 0.01, 0.015, 0.05, 0.008, rows=7, columns=32, narrow=16
        ),
        "gemv": KernelCost(0.03, 0.0, 0.0, 0.0, 0.02, 0.1, 200.0, 0.0, 0.01, columns=16),
        "bmm": KernelCost(0.02, 0.0, 0.0, 0.0, 0.07, 0.0, 800.0, 0.5, rows=4, columns=16),
        "dwconv": KernelCost(0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 300.0, 3.0, reread=0.02, columns=16),
        "dwconv_strided": KernelCost(0.06, 0.01, 0.02, 0.04, 0.0, 0.0, 200.0, 4.0, columns=32),
        "softmax": KernelCost(40.0, 0.02, 0.03, 0.0, 0.0, 0.0, 250.0, 0.0),
        # Not tiles of 3 rows: squares of these sizes leave 1 over, so padding would look like weights.
        "qs8_gemm": KernelCost(0.01, 0.004, 0.01, 0.02, 0.03, 0.05, 700.0, 1.0, 0.01, rows=4, columns=8),
        "qs8_igemm": KernelCost(0.02, 0.001, 0.01, 0.02, 0.04, 0.06, 900.0, 2.0, 0.01, rows=4, columns=8),
        "qs8_dwconv": KernelCost(0.09, 0.0, 0.0, 0.0, 0.0, 0.0, 300.0, 3.0, columns=16),
        "qs8_dwconv_strided": KernelCost(0.1, 0.01, 0.02, 0.04, 0.0, 0.0, 200.0, 4.0, columns=32),
        "f16_gemm": KernelCost(0.01, 0.004, 0.01, 0.02, 0.03, 0.05, 700.0, 1.0, 0.01, rows=4, columns=32),
        "f16_dwconv": KernelCost(0.03, 0.0, 0.0, 0.0, 0.0, 0.0, 300.0, 3.0, reread=0.02, columns=32),
        "f16_dwconv_strided": KernelCost(0.04, 0.01, 0.02, 0.04, 0.0, 0.0, 200.0, 4.0, columns=8),
        "qc8w_gemm": KernelCost(0.01, 0.004, 0.01, 0.02, 0.03, 0.05, 700.0, 1.0, 0.01, rows=4, columns=8),
        "qb4w_gemm": KernelCost(0.02, 0.004, 0.01, 0.02, 0.05, 0.08, 700.0, 1.0, 0.01, rows=4, columns=8),
        "qd8_convert": KernelCost(20.0, 0.02, 0.03, 0.05, 0.0, 0.0, 250.0, 0.0),
    },
)


def made_up(sample: Sample, reading: Reading = "kept") -> Measured:
    repeated = repetitions(sample, int(CACHES[1] * measure.SHARE[reading]))
    measured = Measured(sample, 0.0, apart(sample, reading, repeated))
    return replace(measured, nanoseconds=sum(map(TRUTH.nanoseconds, measured.works())))


def test_known_costs_are_found() -> None:
    """Also of kernels whose samples have nodes of others."""
    fits = fit_all([made_up(*each) for each in readings(samples())], CACHES)
    assert set(fits) == set(KERNELS)
    for kernel, found in fits.items():
        wanted = TRUTH.kernels[kernel]
        assert found.error < 1e-6, kernel
        if kernel in ("gemm", "igemm", "bmm", "qs8_gemm", "qs8_igemm", "f16_gemm", "qc8w_gemm", "qb4w_gemm"):
            tiles = [(cost.rows, cost.columns, cost.narrow) for cost in (found.cost, wanted)]
            assert tiles[0] == tiles[1]
            assert found.cost.work == pytest.approx(wanted.work, rel=1e-3)
            assert found.cost.weights == pytest.approx(wanted.weights, rel=1e-2)
            assert found.cost.streamed == pytest.approx(wanted.streamed, rel=1e-2)
            assert found.cost.reread == pytest.approx(wanted.reread, rel=1e-2)
            assert found.cost.refetch == pytest.approx(wanted.refetch, rel=1e-2)
            assert found.cost.narrow_work == pytest.approx(wanted.narrow_work, rel=1e-2)
            assert found.cost.call == pytest.approx(wanted.call, rel=1e-3)
        if "dwconv" in kernel:
            assert found.cost.columns == wanted.columns
            assert (found.cost.work, found.cost.row) == pytest.approx((wanted.work, wanted.row), rel=1e-3)
            assert found.cost.reread == pytest.approx(wanted.reread, rel=1e-3)
        if kernel == "gemv":
            # Of one row, every multiply-add reads a weight, so what these cost together is all that can be known.
            assert found.cost.streamed - found.cost.weights == pytest.approx(0.08, rel=1e-3)
            assert found.cost.weights - found.cost.held == pytest.approx(0.01, rel=1e-3)
        if kernel == "qd8_convert":
            costs = (found.cost.work, found.cost.traffic, found.cost.call)
            assert costs == pytest.approx((wanted.work, wanted.traffic, wanted.call), rel=1e-3)
        if kernel == "elementwise":
            costs = (found.cost.traffic, found.cost.far, found.cost.memory)
            assert costs == pytest.approx((wanted.traffic, wanted.far, wanted.memory), rel=1e-3)


def test_the_share_of_the_last_cache_is_found() -> None:
    """Where others use the last cache too, times are those of a smaller one."""
    kernels = ("elementwise", "gemv", "copy", "dwconv")  # each behind those that its samples have too
    measured = [made_up(*each) for each in readings(samples()) if each[0].kernel in kernels]
    caches, _ = fit_share(measured, (CACHES[0], 2 * CACHES[1]))
    assert caches == CACHES


def test_every_sample_is_of_its_kernel() -> None:
    for sample in samples():
        works = sample.works()
        assert sample.kernel in {work.kernel for work in works}, sample
        assert all(KERNELS.index(work.kernel) <= KERNELS.index(sample.kernel) for work in works), sample


def test_no_cost_is_below_zero() -> None:
    """RunTimes that grow more slowly than the work would have a negative share for something else."""
    chosen = [DepthwiseSample(size, channels, (3, 3)) for size in (4, 16, 64) for channels in (32, 256)]
    measured = [Measured(each, 100.0 * (each.size**2 * each.channels) ** 0.7) for each in chosen]
    found = fit("dwconv", measured, {}, CACHES)
    assert min(found.cost.work, found.cost.traffic, found.cost.far, found.cost.weights, found.cost.call) >= 0
    assert found.error > 0


@pytest.mark.parametrize(
    "sample",
    [ConvolutionSample(5, 8, (1, 1)), ConvolutionSample(5, 8, (3, 1)), ConvolutionSample(5, 8, (3, 3)),
     DepthwiseSample(5, 8, (4, 1)), PhasesSample(8, 8, (1, 3), (1, 4), (1, 2)), PhasesSample(4, 8, (3, 3), (2, 2)),
     AdditionSample(5, 8), ByRowSample(5, 8), SwapSample(5, 8), FunctionSample(5, 8, "gelu"), TranspositionSample(5, 8),
     TranspositionSample(5, 8, planes=True), SoftmaxSample(5, 8), MeanSample(5, 8),
     PoolingSample(5, 8, "max_pool"), PoolingSample(5, 8, "average_pool"), EnlargementSample(5, 8),
     AttentionSample(5, 8, 2), ConversionSample(5, 8), ConvolutionSample(5, 8, (1, 1), numbers="i8"),
     ConvolutionSample(5, 8, (3, 3), numbers="i8"),
     DepthwiseSample(5, 8, (5, 5), numbers="i8"), PhasesSample(4, 8, (3, 3), (2, 2), numbers="i8"),
     AdditionSample(5, 8, numbers="i8"), TableSample(5, 8, numbers="i8"), MeanSample(5, 8, numbers="i8"),
     PoolingSample(5, 8, "max_pool", numbers="i8"),
     ConvolutionSample(5, 8, (1, 1), numbers="f16"), ConvolutionSample(5, 8, (3, 3), numbers="f16"),
     DepthwiseSample(5, 8, (5, 5), numbers="f16"), PhasesSample(4, 8, (3, 3), (2, 2), numbers="f16"),
     AdditionSample(5, 8, numbers="f16"), ByRowSample(5, 8, numbers="f16"), FunctionSample(5, 8, "tanh", numbers="f16"),
     TranspositionSample(5, 8, numbers="f16"), SoftmaxSample(5, 8, numbers="f16"), MeanSample(5, 8, numbers="f16"),
     PoolingSample(5, 8, "max_pool", numbers="f16"), PoolingSample(5, 8, "average_pool", numbers="f16"),
     EnlargementSample(5, 8, numbers="f16"), ConversionSample(5, 8, "f16"),
     DynamicProductSample(5, 32, "qc8w"), DynamicProductSample(5, 32, "qc4w"), DynamicProductSample(5, 32, "qb4w"),
     DynamicProductSample(5, 8, "qc8w", (3, 3)), DynamicConversionSample(5, 32)],
)  # fmt: skip
def test_a_chain_runs(sample: Sample) -> None:
    image = np.ones(sample.shape, np.float32)
    method = Runtime.get().load_program(program(sample, 3), threads=1).load_method("forward")
    (result,) = (np.from_dlpack(each) for each in method.execute([image]))
    assert result.shape == sample.shape
    wanted: dict[type[Sample], float] = {
        AdditionSample: 4.0,
        SoftmaxSample: 1 / 8,
        MeanSample: 0.0,
        AttentionSample: 64000.0,
        SwapSample: 1.0,
        TranspositionSample: 1.0,
        EnlargementSample: 1.0,
        ConversionSample: 1.0,
    }
    products = ConvolutionSample | DepthwiseSample | PhasesSample | DynamicProductSample
    if type(sample) in wanted:
        np.testing.assert_allclose(result, wanted[type(sample)], rtol=1e-5)
    elif isinstance(sample, products | ByRowSample):
        assert np.ptp(result) > 0
    else:
        assert np.isfinite(result).all()


class Chains:
    """A session whose nodes take so many nanoseconds on one thread, on two a share of that and a wait, by one clock. A
    call of the runtime takes a microsecond.
    """

    def __init__(
        self, nanoseconds: float, waits: float = 0, cores: int = 2, shared: float = 0.5, clock: str = "processor"
    ) -> None:
        self.hello = SimpleNamespace(cores=range(cores))
        self.nanoseconds, self.waits, self.shared, self.clock = nanoseconds, waits, shared, clock
        self.loaded: list[tuple[int, int]] = []

    def __enter__(self) -> Chains:
        return self

    def __exit__(self, *error: object) -> None:
        assert not self.loaded

    def load(self, file: bytes, threads: int = 1) -> tuple[int, int]:
        self.loaded.append((len(file), threads))
        return self.loaded[-1]

    def give(self, chain: tuple[int, int], index: int, image: np.ndarray) -> None:
        assert chain in self.loaded
        assert (index, image.dtype) == (0, np.float32)

    def run(self, chain: tuple[int, int], runs: int = 1, seconds: float = 0.0, clock: str = "processor") -> RunTimes:
        assert chain in self.loaded
        length, threads = chain
        each = self.nanoseconds if threads == 1 else self.nanoseconds * self.shared + self.waits
        taken = 1000 + length * each if clock == self.clock else 0.0
        return RunTimes(runs, taken, taken, (taken,))

    def unload(self, chain: tuple[int, int]) -> None:
        self.loaded.remove(chain)


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are as long as their chains, and nothing else."""
    for module in (run, waiting):
        monkeypatch.setattr(module, "program", lambda sample, length, *_: bytes(length))


@pytest.mark.usefixtures("lengths")
def test_a_node_takes_what_a_longer_chain_takes_more() -> None:
    """What takes too long is skipped: that is known from the shorter chain, and the longer one is not loaded."""
    for node, most, wanted in (
        (100.0, 60.0, pytest.approx(100.0)),
        (1e8, 6.0, SKIPPED),
        (1e8, 7.0, pytest.approx(1e8)),
    ):
        with Chains(node) as chains:
            found = run.nanoseconds(cast(Session, chains), AdditionSample(4, 8), 9, most_seconds=most)
        assert found == wanted


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize(
    ("session", "wait"),
    [
        (Chains(20_000, 1500, clock="wall"), 1500.0),
        (Chains(20_000, 0, shared=0.49, clock="wall"), 0.0),
        (Chains(20_000, 1500, cores=1, clock="wall"), SKIPPED),
        (Chains(20_000, 1500, shared=1.0, clock="wall"), SKIPPED),  # threads that share a core
    ],
)
def test_two_threads_wait_for_what_they_take_beyond_half(session: Chains, wait: float) -> None:
    assert waiting.waiting(lambda: cast(Session, session)) == pytest.approx(wait)


def test_the_first_sizes_cover_all() -> None:
    """Those that a profile needs come first, and all come once."""
    for every in (1, 2, 3, 4):
        assert by_coverage(every)[: len(fewest(every))] == fewest(every)
        assert sorted(map(repr, by_coverage(every))) == sorted({*map(repr, samples(every)), *map(repr, fewest(every))})


@pytest.fixture
def measured_here(monkeypatch: pytest.MonkeyPatch) -> list[Kernel]:
    """The kernels of samples that were measured, in times that are made up."""
    measured: list[Kernel] = []

    def nanoseconds(session: Session, sample: Sample, count: int, shares_weights: bool, most_seconds: float) -> float:
        measured.append(sample.kernel)
        return made_up(sample).nanoseconds

    monkeypatch.setattr(run, "nanoseconds", nanoseconds)
    monkeypatch.setattr(run, "settled", lambda session, reference: True)
    monkeypatch.setattr(run, "waiting", lambda connect: 1800.0)
    return measured


def test_a_profile_is_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    measured_here: list[Kernel],
) -> None:
    monkeypatch.setattr(measure, "SHAPES", ((4, 32), (7, 64), (14, 32), (14, 64)))
    monkeypatch.setattr(measure, "OTHERS", ((2, 32), (7, 64), (14, 32)))
    monkeypatch.setattr(measure, "LARGE", ((28, 16),))
    monkeypatch.setattr(measure, "WIDE", ((4, 96),))
    monkeypatch.setattr(measure, "UNEVEN", ((4, 24),))
    monkeypatch.setattr(measure, "MATRICES", ((2, 128),))
    monkeypatch.setattr(measure, "PLANES", ((14, 3),))
    monkeypatch.setattr(measure, "VECTORS", (32, 64))
    monkeypatch.setattr(measure, "ATTENTION", ((16, 32, 2), (8, 16, 4)))
    monkeypatch.setattr(measure, "ROWS", ((4, 8), (2, 40)))
    file = tmp_path / "mine.toml"
    assert xir_tune.main(["-o", str(file), "--processor", "a test"]) == 0
    assert f"wrote {file}" in capsys.readouterr().out
    profile = load_profile(str(file))
    assert profile.processor == "a test"
    assert set(profile.kernels) == set(KERNELS)
    assert all(cost.work + cost.traffic + cost.call > 0 for cost in profile.kernels.values())
    assert WinogradConv2dPass(cpu=str(file)).processors().profiles == (profile,)
    assert profile.wait == 1800.0


def test_some_kernels_are_measured_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measured_here: list[Kernel]
) -> None:
    """What the file says of the others stays, its caches as well, and they are what the new ones are fitted with."""
    file = tmp_path / "mine.toml"
    kernels = {kernel: TRUTH.kernels[kernel] for kernel in FLOAT_KERNELS}
    before = replace(TRUTH, kernels=kernels, xnnpack=installed_xnnpack())
    file.write_text(before.text(), encoding="utf-8")
    wanted: tuple[Kernel, ...] = ("qs8_convert", "qs8_dwconv_strided")
    assert xir_tune.main(["-o", str(file), "--only", "qs8_dwconv_strided,qs8_convert"]) == 0
    assert set(measured_here) == set(wanted)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "kernel", "qs8_convert", "qs8_dwconv_strided", "wrote"
    ]  # fmt: skip
    profile = parse_profile(file.read_text(encoding="utf-8"), "it")
    new: dict[Kernel, KernelCost] = {kernel: profile.kernels[kernel] for kernel in wanted}
    assert profile == replace(before, kernels={**kernels, **new})
    for kernel, cost in new.items():
        true = TRUTH.kernels[kernel]
        assert (cost.work, cost.traffic, cost.call) == pytest.approx((true.work, true.traffic, true.call))


def test_what_two_threads_wait_is_measured_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine, by a few runs: how long that takes does not matter here. The other figures stay."""
    for name, value in (("NODES", 8), ("ROUNDS", 4), ("ROUND_SECONDS", 0.0), ("MOST_SHARED", 1000.0)):
        monkeypatch.setattr(waiting, name, value)
    file = tmp_path / "mine.toml"
    before = replace(TRUTH, xnnpack=installed_xnnpack())
    file.write_text(before.text(), encoding="utf-8")
    assert xir_tune.main(["-o", str(file), "--only", "wait"]) == 0
    profile = parse_profile(file.read_text(encoding="utf-8"), "it")
    assert replace(profile, wait=None) == before
    assert (profile.wait is None) == (os.cpu_count() == 1)
    assert f"wrote {file}" in capsys.readouterr().out
    assert not file.with_name("mine.toml.measured").exists()


def test_kernels_of_another_library_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, tool = tmp_path / "mine.toml", Tool(xir_tune.main, capsys)
    for text, message in (
        (TRUTH.text(), f"is of none, this is {installed_xnnpack()}: leave --only out"),
        ("version = 3", "has version 3"),
    ):
        file.write_text(text, encoding="utf-8")
        tool(f"-o {file} --only qs8_convert", code=1)
        assert message in tool.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-o profile.txt", "a profile is a .toml file, not 'profile.txt'"),
        ("-o no/folder/a.toml", "there is no folder 'no/folder'"),
        ("-o a.toml --processor 'a \"b\"'", "a printable name without quotes"),
        ("-o a.toml --samples 9", "--samples is 1 to 4, not 9"),
        ("-o a.toml --only gemm,conv", "--only: 'conv' is neither 'wait' nor one of the kernels gemm, gemv, igemm"),
        ("-o missing.toml --only gemm", "the other kernels' figures of missing.toml, which there is not: leave it out"),
    ],
)
def test_wrong_arguments(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    tool = Tool(xir_tune.main, capsys)
    tool(arguments, code=1)
    assert message in tool.err
