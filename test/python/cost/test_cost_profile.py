"""The text of cost profiles: what is written is read, and what is wrong is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xir.cost.profile import WAIT, CostProfile, KernelCost, load_profile, parse_profile, shipped
from xir.cost.work import FLOAT_KERNELS, KERNELS, Kernel, Work

TEXT = replace(load_profile("zen4"), wait=None).text()


def test_what_is_written_is_read() -> None:
    for name in shipped():
        profile = load_profile(name)
        assert set(profile.kernels) >= set(FLOAT_KERNELS)
        assert parse_profile(profile.text(), "again") == profile


def test_all_but_fp32_may_be_missing() -> None:
    """As kernels on integers are from every profile of version 5, and others from every one of version 9."""
    whole = load_profile("zen3")
    floats = replace(whole, kernels={kernel: whole.kernels[kernel] for kernel in FLOAT_KERNELS})
    assert parse_profile(floats.text(), "it") == floats
    assert floats.origin.endswith(", no kernels on integers, no fp16, no dynamic int8 and 4 bits")
    assert set(parse_profile(floats.text().replace("version = 12", "version = 5"), "it").kernels) == set(FLOAT_KERNELS)
    work = Work("qs8_dwconv", 9, rows=8, columns=16)
    assert whole.knows(work)
    assert not floats.knows(work)


def cost_of(**figures: float) -> KernelCost:
    """What a kernel takes, 0 where nothing is said."""
    names = ("work", "traffic", "far", "memory", "weights", "streamed", "call", "row")
    return KernelCost(**dict.fromkeys(names, 0.0) | figures)  # pyright: ignore[reportArgumentType]


def profile_of(caches: tuple[int, int] = (1 << 20, 1 << 24), **kernels: KernelCost) -> CostProfile:
    return CostProfile("", "any", "", caches, kernels)  # pyright: ignore[reportArgumentType]


def test_a_product_is_padded_to_the_tile() -> None:
    cost = KernelCost(2.0, 0.5, 0.0, 0.0, 3.0, 4.0, 10.0, 0.25, held=1.5, rows=7, columns=16)
    work = Work("gemm", 3, rows=8, columns=17, batches=2, traffic=4, weights=5)
    assert cost.multiplied(work) == 2 * 14 * 32 * 3
    assert profile_of(gemm=cost).nanoseconds(work) == 2.0 * 2 * 14 * 32 * 3 + 0.5 * 4 + 1.5 * 5 + 0.25 * 2 * 8 + 10.0


def test_products_of_few_columns() -> None:
    """They are padded to the narrow tile; plain products take the narrow kernel where it wastes less: 1,000 columns
    waste 8, which is less than a hundredth of them; of 25, either kernel wastes 7."""
    cost = cost_of(work=1.0, columns=32, narrow=16)
    for columns, computed in ((3, 16), (16, 16), (17, 32), (31, 32), (32, 32), (33, 64)):
        assert cost.multiplied(Work("igemm", 9, rows=5, columns=columns)) == 5 * computed * 9
    profile = profile_of(gemm=cost_of(work=2.0, narrow_work=3.0, columns=16, narrow=8))
    for columns, took in ((8, 3 * 8), (16, 2 * 16), (24, 3 * 24), (40, 3 * 40), (25, 2 * 32), (1000, 2 * 1008)):
        assert profile.nanoseconds(Work("gemm", 1, columns=columns)) == took


def test_bytes_cost_by_where_they_are() -> None:
    """By the cache that they fit into; what was touched long ago is further away, and what the first cache does not
    hold costs for each pixel."""
    copying = profile_of((1000, 5000), copy=cost_of(traffic=1.0, far=10.0, memory=100.0))
    took = [copying.nanoseconds(Work("copy", traffic=traffic)) for traffic in (1000, 1001, 5000, 5001)]
    assert took == pytest.approx([1000, 1010, 41000, 41100])
    took = [copying.nanoseconds(Work("copy", traffic=100, since=since)) for since in (900, 1900, 9900)]
    assert took == pytest.approx([100, 50 + 10 * 50, 10 + 10 * 40 + 100 * 50])
    filtering = profile_of((1000, 5000), dwconv=cost_of(reread=2.0))
    assert filtering.nanoseconds(Work("dwconv", 9, reread=50)) == 100.0


def test_weights_come_from_where_they_are_since_they_were_read() -> None:
    profile = profile_of((1000, 5000), **dict.fromkeys(KERNELS, cost_of(weights=1.0, streamed=5.0, held=0.5)))
    took = [profile.nanoseconds(Work("gemm", weights=100, apart=apart)) for apart in (1000, 2000, 10000)]
    assert took == pytest.approx([0.5 * 100, 0.5 * 50 + 50, 0.5 * 10 + 40 + 5 * 50])
    streaming = profile.of_program(10000)
    by_kernel = {kernel: streaming.nanoseconds(Work(kernel, weights=100)) for kernel in KERNELS}
    products = ("gemm", "gemv", "igemm")
    numbers = ("", "qs8_", "f16_", "qc8w_", "qc4w_", "qb4w_")
    assert {kernel for kernel, each in by_kernel.items() if each == pytest.approx(took[2])} == {
        f"{each}{kernel}" for each in numbers for kernel in products if f"{each}{kernel}" in KERNELS
    }
    assert by_kernel["bmm"] == 100.0, "these it has just computed"


BLOCKED = Work("gemm", 25, rows=17, columns=64, batches=2, row_bytes=50, column_bytes=100)


@pytest.mark.parametrize(
    ("own", "block"),
    [
        (300 + 8 * 124 - 1, 64),  # not even a tile of 6 rows and 8 columns
        (300 + 8 * 124, 8),
        (300 + 24 * 124, 24),
        (300 + 32 * 124 - 1, 24),  # 24, 24 and 16
        (300 + 32 * 124, 32),
        (300 + 56 * 124, 32),  # not 56 and 8
        (300 + 64 * 124, 64),
    ],
)
def test_weights_are_multiplied_by_blocks_that_a_cache_holds(own: int, block: int) -> None:
    assert cost_of(rows=6, columns=8).block(BLOCKED, own) == block


@pytest.mark.parametrize("kernel", ["gemm", "igemm", "qs8_igemm", "qc8w_gemm"])
@pytest.mark.parametrize(
    ("own", "lost"), [(1000, 1.0), (300 + 32 * 124 - 1, 0.0), (300 + 32 * 124, 0.24883), (12800, 0.0)]
)
def test_each_tile_of_rows_reads_weights_again_that_no_cache_holds(kernel: Kernel, own: int, lost: float) -> None:
    """From the last cache, and what that does not hold of a block from the memory."""
    profile = profile_of((own, 13_000), **{kernel: cost_of(reread=5.0, refetch=2.0, rows=6, columns=8)})
    work = replace(BLOCKED, kernel=kernel)
    tiles, images, bytes = 3, 2, 6400
    again = images * (tiles - 1)
    assert profile.nanoseconds(work) == pytest.approx(again * lost * 2 * bytes, rel=1e-4)
    assert profile.nanoseconds(replace(work, rows=6)) == 0
    small = replace(profile, caches=(own, own))
    outside = bytes - own if own == 1000 else 0
    assert small.nanoseconds(work) == pytest.approx(again * lost * (2 * (bytes - outside) + 5 * outside), rel=1e-4)


@pytest.mark.parametrize("wait", [None, 700.0])
@pytest.mark.parametrize("threads", [2, 4])
def test_threads_share_a_node_and_wait_at_its_end(threads: int, wait: float | None) -> None:
    """Of every kernel, for any work: a constant that the program's nodes add up, and a share of the rest. The constant
    is the profile's, if it was measured."""
    profile = replace(load_profile("emeraldrapids"), wait=wait).of_program(60_000_000)
    shared, waits = profile.on_threads(threads), WAIT if wait is None else wait
    for kernel in KERNELS:
        work = Work(kernel, 64, 100, 200, 2, traffic=5_000_000, weights=300_000, reread=40, since=10_000_000)
        assert shared.nanoseconds(work) == pytest.approx(profile.nanoseconds(work) / threads + waits), kernel
    assert {profile: 1}.get(shared) is None, "predictions are kept by profile"
    assert profile.on_threads(1) is profile


def test_what_threads_wait_is_in_files_from_version_11_on() -> None:
    profile = replace(load_profile("zen4"), wait=None)
    measured = replace(profile, wait=1234.0)
    assert "wait" not in profile.text()
    assert "\nwait = 1234.0\n" in measured.text()
    assert parse_profile(measured.text(), "it") == measured
    assert of_version(10).wait is None


def of_version(version: int, *without: str) -> CostProfile:
    """A profile as an earlier version wrote it, without some keys."""
    lines = TEXT.replace("version = 12", f"version = {version}").splitlines()
    return parse_profile("\n".join(line for line in lines if line.partition(" = ")[0] not in without), "it")


def test_files_of_earlier_versions_mean_what_they_meant() -> None:
    """Those of version 7 do not tell the generation; in those of version 6 weights cost the same in both caches, and
    matrices that none of them holds are streamed again and again."""
    old = of_version(7, "generation", "isa", "measured")
    assert (old.generation, old.isa, old.measured) == ("", "", "")
    assert old.kernels == load_profile("zen4").kernels
    old = of_version(6, "held", "narrow_work", "reread")
    gemm, igemm = old.kernels["gemm"], old.kernels["igemm"]
    assert (gemm.held, gemm.reread) == (gemm.weights, gemm.streamed)
    assert (igemm.held, igemm.reread) == (igemm.weights, 0.0)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("version = 12", "version = 4", "it has version 4, this is version 12: run xir-tune anew"),
        ("version = 12", "version = 13", "it has version 13, this is version 12: run xir-tune anew"),
        ("version = 12\n", "", "it has version None"),
        ('family = "x86"', 'family = "vax"', "family must be one of any, x86, arm, it is 'vax'"),
        ('family = "x86"', "family = 1", "family must be a text, it is 1"),
        ('isa = "avx512"', 'isa = "mmx"', "isa must be one of avx2, avx512, neon, it is 'mmx'"),
        ('generation = "zen4"', 'generation = "zen9"', "generation must be one of zen1, zen2, "),
        ("[copy]", "[copies]", "'copies' is none of the kernels gemm, gemv, igemm, bmm, "),
        (TEXT[TEXT.index("[resize]") :], "", r"\[resize\] is missing"),
        (
            TEXT[TEXT.index("[gemm]") : TEXT.index("[gemv]")],
            "[gemm]\nwork = 1.0\nfar = 1\nmemory = 1\nweights = 1\nstreamed = 1\ncall = 1\nrow = 1\n",
            "lacks 'traffic'",
        ),
        ("[gemm]\n", "[gemm]\nspeed = 1\n", r"\[gemm\] has no 'speed'"),
        ("[gemm]\nwork = ", "[gemm]\nwork = -", r"\[gemm\]: work must be a number, 0 or more, it is -"),
        ("[gemm]\nwork = ", '[gemm]\nwork = "a" #', r"\[gemm\]: work must be a number, 0 or more, it is 'a'"),
        ("[gemm]\nwork = ", "[gemm]\nwork = inf #", r"\[gemm\]: work must be a number, 0 or more, it is inf"),
        ("rows = 1\n", "rows = 0\n", "rows must be a whole number from 1 on, it is 0"),
        ("rows = 1\n", "rows = true\n", "rows must be a whole number from 1 on, it is True"),
        ("version = 12", "version = 12\nwait = -1", "it: wait must be a number, 0 or more, it is -1"),
        ("version = 12", "version = 12\nwait = true", "it: wait must be a number, 0 or more, it is True"),
        ("version = 12", "version = ", "it is no profile: "),
        ("version = 12\n", "version = 12\nmodelled = 1\n", "modelled must be true or false, it is 1"),
        (
            "version = 12\n",
            "version = 12\nmodelled = true\n",
            r"a modelled profile's processor must say '\(modelled, not measured\)', it is 'AMD EPYC, Zen 4'",
        ),
        ("caches = [", "caches = [true, ", "caches must be two numbers of bytes, the smaller one first, they are "),
        ("caches = [1048576, ", "caches = [99999999, ", "the smaller one first, they are "),
        ("caches = [1048576, ", "caches = [true, ", "the smaller one first, they are "),
    ],
)
def test_what_is_wrong_is_said(before: str, after: str, message: str) -> None:
    assert before in TEXT
    with pytest.raises(ValueError, match=message):
        parse_profile(TEXT.replace(before, after, 1), "it")


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"there is no profile 'pdp11': it is a \.toml file, or one of .*, zen3, zen4$"
    ):
        load_profile("pdp11")
    with pytest.raises(FileNotFoundError):
        load_profile(str(tmp_path / "missing.toml"))
