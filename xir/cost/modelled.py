"""Profiles of processors that nobody measured, from what is public of their cores and from XNNPACK's tiles.

A loop takes as many cycles as the busiest part of the core: its vector pipes, its loads, its stores, its divider, or
the chain of additions to one accumulator. What is read takes what the cache does that holds it, beside that where the
core runs ahead of its loads, and on top of it where it does not. The figures of a core are a text file, in TOML, in
`cores/`, whose comments name their sources; docs/modelled_profiles.md tells how far off this is.

Sources, of tiles and of what kernels do for a number: `src/configs/*.c` and the kernels that these name, of XNNPACK at
commit 92a7ad501b.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xir.cost.native import Family, Isa
from xir.cost.profile import MODELLED, CostProfile, KernelCost
from xir.cost.work import HALF_KERNELS, Kernel, computes

CORES = Path(__file__).parent / "cores"

XNNPACK = "XNNPACK 92a7ad501b"
"""Whose kernels are modelled."""

REACHED = 0.85
"""The share of what pipes and loads allow that loops reach: their ends, and what is not counted of them."""

CALL, LOOP, PIXEL = 300.0, 25.0, 20.0
"""Instructions of a call of an operator, of a kernel's call for a row or a run, and for a pixel of a convolution, whose
rows are found by pointers."""

ROW = 6.25
"""Instructions for a row that is added to sums of its columns."""

WINDOW_CHANNELS = 64
"""Channels that find a window of pooling together, as a pixel: its work is counted by elements of windows alone."""

PACKED = 2.5
"""Instructions for each number that a product packs first, one by one."""

REQUANTIZED = 12.0
"""Vector instructions that scale, round, bound and narrow 32-bit sums, a vector of them."""

SCALED = 3.0
"""Vector instructions that make fp32 numbers of 32-bit sums: converted, scaled, and added to the result."""

UNPACKED = 1.0
"""Those that make a vector of 8-bit weights of 4-bit ones: a shift or a mask, for all rows of a tile."""

GROUP = 32
"""Weights in 4 bits that have one scale."""

LOOKED_UP = 3.0
"""Instructions for each number that is looked up in a table."""


class Loop(NamedTuple):
    """What a kernel does for each vector of results."""

    computes: float
    """Vector instructions but loads and stores."""
    loads: float = 1.0
    stores: float = 1.0
    divides: float = 0.0


FUNCTIONS: Mapping[Kernel, Loop] = {
    "sigmoid": Loop(16, divides=1),
    "tanh": Loop(13, divides=1),
    "gelu": Loop(18, divides=1),
    "exp": Loop(14, divides=1),
    "log": Loop(18, divides=1),
}
"""Terms of the polynomials and quotients, and what goes before and behind them."""


class ProductTile(NamedTuple):
    """What a kernel of products computes at once."""

    rows: int
    columns: int
    terms: int = 1
    """Terms of the sums that are added apart from each other."""


Product = Literal[
    "gemm", "narrow_gemm", "igemm", "narrow_igemm", "bmm", "gemv", "dwconv", "qs8_gemm", "qs8_gemv", "qs8_dwconv"
]


@dataclass(frozen=True)
class CoreFigures:
    """What is public of a processor's core."""

    processor: str
    family: Family
    generation: str
    isa: Isa
    clock: float
    """GHz that it holds."""
    vector: int
    """Bytes of a vector register that XNNPACK's kernels use."""
    registers: int
    """Vector registers."""
    pipes: float
    """Multiply-adds of whole vectors that begin in a cycle."""
    latency: int
    """Cycles from one to the next that adds to its result."""
    loads: float
    """Whole vectors that are loaded in a cycle, from the first cache."""
    stores: float
    divide: float
    """Cycles for each division of whole vectors."""
    scalar: float
    """Other instructions in a cycle, in code with calls and branches."""
    overlaps: bool
    """Whether it runs ahead of loads that take their time."""
    broadcasts: bool
    """Whether products load each number of the left matrix alone, instead of a vector of them."""
    forward: int
    """Cycles from a store to a load of the same bytes."""
    caches: tuple[int, int]
    """Bytes of the core's own cache, and what a program gets of the last one."""
    rates: tuple[float, float]
    """Bytes in a cycle from each."""
    memory: float
    """Bytes in a nanosecond from the memory, by one core."""
    dot: tuple[int, float]
    """Multiply-adds of 8-bit integers by one vector instruction, and how many instructions these are."""
    widened: float
    """Vector instructions for a vector of 32-bit sums and one tap of a depthwise convolution on 8-bit integers."""
    transposed: int
    """Elements along a side of the squares that transposes are made of."""
    tiles: Mapping[Product, ProductTile]
    compiled: frozenset[Product]
    """The kernels written in C, whose compiler keeps in memory what registers do not hold."""

    @property
    def lanes(self) -> int:
        """The fp32 numbers of a vector."""
        return self.vector // 4

    def nanoseconds(self, cycles: float) -> float:
        """What a part of a loop takes."""
        return cycles / self.clock / REACHED

    def instructions(self, count: float) -> float:
        """The nanoseconds of code with calls and branches."""
        return count / self.scalar / self.clock

    def levels(self, computed: float) -> tuple[float, float, float]:
        """The nanoseconds of a byte from each cache and from the memory, by a loop that computes so long for it."""
        reads = (1 / self.rates[0] / self.clock, 1 / self.rates[1] / self.clock, 1 / self.memory)
        near, far, memory = (max(computed, read) if self.overlaps else computed + read for read in reads)
        return near, far, memory

    def cycles(self, loop: Loop) -> float:
        """What a loop takes for a vector of results, beside its calls."""
        busiest = max(loop.computes / self.pipes, loop.loads / self.loads, loop.stores / self.stores)
        divided = loop.divides * self.divide
        return max(busiest, divided) if self.overlaps else busiest + divided

    def multiplied(self, product: Product) -> float:
        """The nanoseconds of a multiply-add of fp32 numbers."""
        tile = self.tiles[product]
        sums = -(-tile.rows * tile.columns * tile.terms // self.lanes)
        left = tile.rows * tile.terms if self.broadcasts else -(-tile.rows * tile.terms // self.lanes)
        right = tile.columns * tile.terms / self.lanes
        needed = sums + right + tile.rows
        chain = self.latency + (self.forward if product in self.compiled and needed > self.registers else 0)
        cycles = max(sums / self.pipes, chain, (left + right) / self.loads)
        return self.nanoseconds(cycles) / (tile.rows * tile.columns * tile.terms)

    def multiplied_integers(self, product: Product) -> float:
        """The same of 8-bit integers."""
        tile, (added, instructions) = self.tiles[product], self.dot
        sums = max(tile.rows * tile.columns * 4 // added, 1)
        # An addition of integers by itself takes a cycle.
        chain = self.latency if instructions == 1 else 1
        cycles = max(sums * instructions / self.pipes, chain, tile.columns * 4 / self.vector / self.loads)
        return self.nanoseconds(cycles) / (sums * added)


def profile_of(core: CoreFigures) -> CostProfile:
    """The profile of a core, with all kernels."""
    return CostProfile(
        f"{core.processor} ({MODELLED})",
        core.family,
        XNNPACK,
        core.caches,
        _kernels(core),
        generation=core.generation,
        isa=core.isa,
        modelled=True,
    )


def _kernels(core: CoreFigures) -> dict[Kernel, KernelCost]:
    floats: dict[Kernel, KernelCost] = {**_products(core), **_others(core)}
    integers = _integers(core)
    return {**floats, **integers, **_halves(core, floats), **_dynamic(core, integers)}


def _products(core: CoreFigures) -> dict[Kernel, KernelCost]:
    near, far, memory = core.levels(0.0)
    pixel, packed = core.instructions(PIXEL), core.instructions(PACKED) / 4
    row = core.tiles["gemv"]
    gemv = core.multiplied("gemv")
    # Each number of the matrix is used once, and may come while others are multiplied.
    waits = [max(read - gemv / 4, 0.0) if core.overlaps else read for read in (near, far, memory)]

    def product(name: Product, narrow: Product | None = None) -> KernelCost:
        tile, narrower = core.tiles[name], None if narrow is None else core.tiles[narrow].columns
        return KernelCost(
            work=core.multiplied(name),
            traffic=near,
            far=far,
            memory=memory,
            weights=far,
            streamed=memory,
            call=core.instructions(CALL),
            row=0.0,
            narrow_work=0.0 if narrow is None else core.multiplied(narrow),
            rows=tile.rows,
            columns=tile.columns,
            narrow=narrower or 0,
        )

    found: dict[Kernel, KernelCost] = {
        "gemm": _with(product("gemm", "narrow_gemm"), reread=memory),
        "gemv": KernelCost(
            gemv, near, far, memory, waits[1], waits[2], core.instructions(CALL), 0.0, waits[0], columns=row.columns
        ),
        "igemm": _with(product("igemm", "narrow_igemm"), row=pixel),
        "bmm": _with(product("bmm"), weights=far + packed),
    }
    # A tap of a vector: its pixels and its weights are loaded, and multiplied.
    tap = core.nanoseconds(core.cycles(Loop(1, 2, 0))) / core.lanes
    depthwise = _with(product("gemm"), work=tap, row=pixel, reread=near, weights=0.0, streamed=0.0)
    depthwise = _with(depthwise, rows=1, columns=core.tiles["dwconv"].columns)
    return {**found, "dwconv": depthwise, "dwconv_strided": depthwise}


def _others(core: CoreFigures) -> dict[Kernel, KernelCost]:
    """The kernels on fp32 numbers that multiply no matrices. Pooling and resizing take as many bytes as copies do."""
    loops: dict[Kernel, Loop] = {"elementwise": Loop(1, 2), "copy": Loop(0), **FUNCTIONS}
    found: dict[Kernel, KernelCost] = {kernel: _by_loop(core, loop, LOOP) for kernel, loop in loops.items()}
    steps = core.transposed.bit_length() - 1
    square = core.nanoseconds(4 * steps / (core.pipes * core.vector))
    # The largest number, the sum of exponentials, and quotients: three times over a row.
    softmax = Loop(FUNCTIONS["exp"].computes + 4, loads=3, stores=2)
    window = core.nanoseconds(core.cycles(Loop(1, 1, 0))) / core.lanes + core.instructions(PIXEL) / WINDOW_CHANNELS
    # Four pixels and their weights, by kernels of four numbers on every processor.
    resized = core.nanoseconds(core.cycles(Loop(6, 4, 1))) / 4
    return {
        **found,
        "transpose": _with(found["copy"], work=square),
        "softmax": _with(_by_loop(core, softmax, 3 * LOOP, moved=2)),
        "reduce": _by_loop(core, Loop(1, 1, 0), ROW),
        "max_pool": _with(found["copy"], work=window),
        "average_pool": _with(found["copy"], work=window),
        "resize": _with(found["copy"], work=resized),
    }


def _integers(core: CoreFigures) -> dict[Kernel, KernelCost]:
    """The kernels on 8-bit integers."""
    near, far, memory = core.levels(0.0)
    call, pixel = core.instructions(CALL), core.instructions(PIXEL)
    scaled = core.nanoseconds(REQUANTIZED / core.pipes) / core.lanes
    columns = {name: core.tiles[name].columns for name in ("qs8_gemm", "qs8_gemv", "qs8_dwconv")}
    # As many bytes are read as written, about, and what is written is scaled.
    traffic, beyond, outside = (read + scaled / 2 for read in (near, far, memory))
    gemm = KernelCost(
        core.multiplied_integers("qs8_gemm"), traffic, beyond, outside, far, memory, call, 0.0,
        rows=core.tiles["qs8_gemm"].rows, columns=columns["qs8_gemm"],
    )  # fmt: skip
    loads = min(2.0, core.lanes / 4)
    tap = core.nanoseconds(core.cycles(Loop(core.widened, loads, 0))) / core.lanes
    depthwise = KernelCost(tap, traffic, beyond, outside, 0.0, 0.0, call, pixel, reread=near)
    depthwise = _with(depthwise, columns=columns["qs8_dwconv"])
    # For four bytes that are loaded or stored there is a vector of 32-bit numbers.
    converted = _by_loop(core, Loop(5, 1.25, 1.25), LOOP, moved=1.25)
    pooled = core.nanoseconds(core.cycles(Loop(1, 1, 0))) / core.vector + pixel / WINDOW_CHANNELS
    return {
        "qs8_convert": converted,
        "qs8_dwconv": depthwise,
        "qs8_dwconv_strided": depthwise,
        "qs8_gemm": gemm,
        "qs8_gemv": _with(gemm, work=core.multiplied_integers("qs8_gemv"), rows=1, columns=columns["qs8_gemv"]),
        "qs8_igemm": _with(gemm, row=pixel),
        "qs8_elementwise": _by_loop(core, Loop(REQUANTIZED + 4, 0.5, 0.25), LOOP, moved=0.75),
        "qs8_table": KernelCost(0.0, *core.levels(core.instructions(LOOKED_UP) / 2), 0.0, 0.0, call, 0.0),
        "qs8_reduce": _by_loop(core, Loop(4, 0.25, 0), ROW, moved=0.25),
        "qs8_max_pool": _with(converted, work=pooled),
    }


BY_NUMBER = frozenset(
    ("gemm", "gemv", "igemm", "bmm", "dwconv", "dwconv_strided", "transpose", "max_pool", "average_pool", "resize")
)
"""What computes so many numbers; of fp16 ones a vector holds twice as many."""


def _halves(core: CoreFigures, floats: Mapping[Kernel, KernelCost]) -> dict[Kernel, KernelCost]:
    """The kernels on fp16, by those on fp32: vectors have the same bytes, and tiles twice the columns."""
    found: dict[Kernel, KernelCost] = {"f16_convert": _by_loop(core, Loop(2, 1, 1), LOOP, moved=1.5)}
    costs = {str(kernel): cost for kernel, cost in floats.items()}
    for form in HALF_KERNELS:
        if (cost := costs.get(computed := computes(form))) is not None:
            by_number = _with(cost, work=cost.work / 2, narrow=0, narrow_work=0.0)
            wider = _with(by_number, columns=2 * cost.columns) if cost.columns > 1 else by_number
            found[form] = wider if computed in BY_NUMBER else cost
    return found


def _dynamic(core: CoreFigures, integers: Mapping[Kernel, KernelCost]) -> dict[Kernel, KernelCost]:
    """Products of numbers that are quantised at run time: sums of integers that become fp32 numbers."""
    near, far, memory = core.levels(core.nanoseconds(SCALED / core.pipes) / core.vector)
    added, instructions = core.dot
    grouped = SCALED / (GROUP * core.lanes / added * instructions)

    def product(kernel: Kernel, more: float = 0.0) -> KernelCost:
        cost = integers[kernel]
        return _with(cost, work=cost.work * (1 + more), traffic=near, far=far, memory=memory)

    unpacked = {kernel: UNPACKED / (integers[kernel].rows * instructions) for kernel in ("qs8_gemm", "qs8_gemv")}
    return {
        "qc8w_gemm": product("qs8_gemm"),
        "qc8w_gemv": product("qs8_gemv"),
        "qc8w_igemm": product("qs8_igemm"),
        "qc4w_gemm": product("qs8_gemm", unpacked["qs8_gemm"]),
        "qc4w_gemv": product("qs8_gemv", unpacked["qs8_gemv"]),
        "qb4w_gemm": product("qs8_gemm", unpacked["qs8_gemm"] + grouped),
        "qb4w_gemv": product("qs8_gemv", unpacked["qs8_gemv"] + grouped),
        # The smallest and the largest number of a row are found first.
        "qd8_convert": _by_loop(core, Loop(REQUANTIZED, 2, 0.25), 2 * LOOP, moved=1.25),
    }


def _by_loop(core: CoreFigures, loop: Loop, instructions: float, moved: float | None = None) -> KernelCost:
    """A kernel that computes each number by itself, of so many instructions for each call of its loop; `moved` vectors
    of fp32 numbers are read and written for each vector of results, by default as many as are loaded and stored."""
    each = (loop.loads + loop.stores if moved is None else moved) * core.vector
    levels = core.levels(core.nanoseconds(core.cycles(loop)) / each)
    return KernelCost(core.instructions(instructions), *levels, 0.0, 0.0, core.instructions(CALL), 0.0)


def _with(cost: KernelCost, **changed: float) -> KernelCost:
    return replace(cost, **changed)


def core_names() -> list[str]:
    """The cores of which there are figures."""
    return sorted(path.stem for path in CORES.glob("*.toml"))


def load_core(name: str) -> CoreFigures:
    """The figures of a core."""
    document: dict[str, Any] = tomllib.loads((CORES / f"{name}.toml").read_text(encoding="utf-8"))
    tiles: dict[Any, list[int] | int] = document.pop("tiles")
    compiled = frozenset(document.pop("compiled", ()))
    made: dict[Product, ProductTile] = {
        product: ProductTile(*size) if isinstance(size, list) else ProductTile(1, size)
        for product, size in tiles.items()
    }
    known = {field.name for field in fields(CoreFigures)} - {"tiles", "compiled"}
    if document.keys() != known:
        raise ValueError(f"{name}: its figures are {sorted(document)}, not {sorted(known)}")
    document |= {key: tuple(document[key]) for key in ("caches", "rates", "dot")}
    return CoreFigures(**document, tiles=made, compiled=compiled)
