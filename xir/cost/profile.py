"""Profiles: for each kernel of XNNPACK's, how long a node takes by what it multiplies and moves.

A node takes `work * multiply-adds + traffic * bytes + weights * bytes of weights + row * rows + call` nanoseconds, of
one kernel and on one thread. Bytes beyond what a core's cache holds cost `far`, those beyond the last cache `memory`.
Weights that a core's cache still holds from the last time cost `held`, those that only the memory has `streamed`. The
figures are fitted to measurements of one processor (`xir-tune`), or modelled (`xir.cost.modelled`). They are a text
file, in TOML:

    version = 12
    processor = "AMD EPYC, Zen 4"
    family = "x86"
    generation = "zen4"
    isa = "avx512"
    measured = "2026-11-23"
    xnnpack = "executorch 1.5.1"
    caches = [1048576, 33554432]
    wait = 2400.0

    [gemm]
    work = 0.02
    traffic = 0.01
    far = 0.02
    memory = 0.05
    held = 0.0
    weights = 0.02
    streamed = 0.05
    call = 500.0
    row = 1.0
    reread = 0.01
    refetch = 0.02
    rows = 7
    columns = 32
    narrow = 16
    narrow_work = 0.03

A profile has all kernels on fp32. Others may be missing: those on integers (`INTEGER_KERNELS`), on halves
(`HALF_KERNELS`), and on numbers that are quantised at run time (`DYNAMIC_KERNELS`).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import cast, get_args

from xir.cost.native import GENERATIONS, Family, Isa
from xir.cost.work import DYNAMIC_KERNELS, FLOAT_KERNELS, HALF_KERNELS, INTEGER_KERNELS, KERNELS, Kernel, Work, computes

VERSION = 12
"""Of the format: raised when a key changes its meaning or goes away, and when one is added."""

READ_VERSIONS = (5, 6, 7, 8, 9, 10, 11, VERSION)
"""Those that are read. One of version 5 has no kernels on integers, one of version 6 none for few columns of `gemm`,
one of version 7 does not tell the processor's generation and when it was measured, none before 9 is modelled, none
before 10 has kernels on halves and on numbers that are quantised at run time, none before 11 tells how long
threads wait, none before 12 what it takes to read weights again from the last cache."""

REQUIRED = ("work", "traffic", "far", "memory", "weights", "streamed", "call", "row")
"""What each kernel's table has; the rest of `KernelCost` may be missing."""

COSTS = (*REQUIRED, "held", "reread", "narrow_work", "refetch")
"""What is fitted for a kernel, besides tiles."""

READ_WEIGHTS = frozenset(kernel for kernel in KERNELS if computes(kernel) in ("gemm", "gemv", "igemm"))
"""The kernels whose `weights` are constants, which every run reads anew."""

BY_BLOCKS = frozenset(kernel for kernel in KERNELS if computes(kernel) in ("gemm", "igemm"))
"""Those whose weights are read block by block: `KernelCost.block`."""

BY_WASTE: tuple[Kernel, ...] = ("gemm",)
"""Those that take the kernel of narrower tiles where it computes fewer columns for nothing; others take it only for
fewer columns than a tile of the wider one has."""

TEXTS = ("processor", "family", "xnnpack")
"""The keys of texts, in the file's order."""

LATER_TEXTS = ("generation", "isa", "measured")
"""Those that older files lack."""

OPTIONAL: Mapping[str, Sequence[Kernel]] = {
    "kernels on integers": INTEGER_KERNELS,
    "fp16": HALF_KERNELS,
    "dynamic int8 and 4 bits": DYNAMIC_KERNELS,
}
"""What a profile may lack, and the kernels that this is."""

MODELLED = "modelled, not measured"
"""What tools say of a profile that nobody measured: a part of its processor's name."""

WAIT = 2400.0
"""The nanoseconds that threads wait for each other at the end of a node, where a profile does not tell: what 1,300
nodes of ResNet-18 take on two threads of an Intel Xeon (Emerald Rapids) beyond half of their time on one, for each."""

RESULT_BYTES = 4
"""Of an element, for the size of a block."""

HELD, LOST = 0.7, 0.9
"""Parts of a core's own cache: a block of weights that fills as much is still there for the next tile of rows, or gone.
Source: products of 504 rows by 64 to 512 columns of 1024 numbers, on an Intel Xeon (Emerald Rapids), which lose a fifth
of a block of 0.63, half of one of 0.75 and nearly all of one of 0.9. Of what fits that, this begins late: from 0.5 on,
convolutions of ResNet-18 took forms that make the program 4 % slower."""

SHIPPED = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class KernelCost:
    """What nodes of one kernel take, in nanoseconds."""

    work: float
    """A multiply-add of a product, or whatever else the kernel counts."""
    traffic: float
    """A byte that is read or written, as long as all of them fit into the cache of a core."""
    far: float
    """A byte of those that do not."""
    memory: float
    """A byte of those that do not fit into the last cache either."""
    weights: float
    """A byte of weights that the last cache still holds."""
    streamed: float
    """A byte of those that only the memory has."""
    call: float
    """A node, whatever its size."""
    row: float
    """A row of a product's result, or a pixel of a depthwise convolution's, whatever its length."""
    held: float = 0.0
    """A byte of weights that a core's own cache still holds, as of a cell that runs step by step."""
    reread: float = 0.0
    """A byte that is read again within a node: of a depthwise convolution for each pixel, because the first cache does
    not hold them; of weights for each tile of rows, because the last one does not."""
    narrow_work: float = 0.0
    """A multiply-add of the kernel for few columns; 0 if it takes as long as others."""
    refetch: float = 0.0
    """A byte of weights that is read again for each tile of rows from the last cache, because the core's own does not
    hold the block."""
    rows: int = 1
    """Rows of the left matrix that the kernel computes at once; a product has a multiple of them."""
    columns: int = 1
    """Columns of the right matrix, likewise; channels of a depthwise convolution."""
    narrow: int = 0
    """Those of the kernel for products of few columns; 0 if there is no other."""

    def shared(self, threads: int, wait: float) -> KernelCost:
        """The same where so many threads share each node, and wait for each other at its end."""
        times = {name: getattr(self, name) / threads for name in COSTS}
        return replace(self, **{**times, "call": times["call"] + wait})

    def is_narrow(self, work: Work) -> bool:
        """Whether the kernel for few columns runs. Source: `xnn_use_nr2` in `src/microkernel-utils.c` of XNNPACK."""
        if not self.narrow:
            return False
        if work.columns < self.columns or work.kernel not in BY_WASTE:
            return work.columns < self.columns
        wasted, narrow = (-work.columns % tile for tile in (self.columns, self.narrow))
        return narrow < wasted and 100 * wasted > work.columns

    def width(self, work: Work) -> int:
        """The columns that are computed at once."""
        return self.narrow if self.is_narrow(work) else self.columns

    def multiplied(self, work: Work) -> int:
        """The multiply-adds of whole tiles, with those whose results are thrown away."""
        tiles = ((work.rows, self.rows), (work.columns, self.width(work)))
        rows, columns = (-(-size // tile) * tile for size, tile in tiles)
        return work.batches * rows * columns * work.inner

    def block(self, work: Work, own: int) -> int:
        """The columns that are multiplied by all rows before the next ones.

        XNNPACK takes as many as a core's own cache holds beside a tile of rows, evened out over the blocks; all of them
        if that cache is too small for a single tile. Sources: `xnn_gemm_best_tile_size` in `src/microkernel-utils.c` of
        XNNPACK, and `pthreadpool_parallelize_2d_tile_2d_dynamic` of pthreadpool.
        """
        rows, width = min(self.rows, work.rows), min(self.width(work), work.columns)
        most = (own - rows * work.row_bytes) // (work.column_bytes + rows * RESULT_BYTES) // width
        if most < 1:
            return work.columns
        blocks = -(-work.columns // (most * width))
        return min(-(-work.columns // (blocks * width)) * width, work.columns)

    def read_again(self, work: Work, caches: tuple[int, int]) -> tuple[float, float]:
        """The bytes that are read more than once: of weights those that the last cache holds, and others.

        A block that nearly fills a core's own cache is not held: each tile of rows reads some of it again, or all.
        """
        if work.kernel not in BY_BLOCKS or not work.column_bytes:
            return 0.0, float(work.reread)
        own, last = caches
        block = self.block(work, own) * work.column_bytes
        lost = min(max((block / own - HELD) / (LOST - HELD), 0.0), 1.0)
        again = lost * work.batches * (-(-work.rows // self.rows) - 1) * work.columns * work.column_bytes
        near = min(last / block, 1.0)
        return again * near, again * (1 - near)

    def moved(self, traffic: int, since: int, caches: tuple[int, int]) -> float:
        """What it takes to read and write so many bytes."""
        near, far, memory = by_level(traffic, since, caches)
        return self.traffic * near + self.far * far + self.memory * memory

    def computed(self, work: Work, caches: tuple[int, int], between: int) -> float:
        """The rest of a node. `between` bytes are moved between two reads of its weights, if it does not tell."""
        held, kept, streamed = weights_by_level(work, caches, between)
        multiply = self.narrow_work if self.narrow_work and self.is_narrow(work) else self.work
        constants = self.held * held + self.weights * kept + self.streamed * streamed
        fixed = self.row * work.batches * work.rows + self.call
        return multiply * self.multiplied(work) + constants + self.reading_again(work, caches) + fixed

    def reading_again(self, work: Work, caches: tuple[int, int]) -> float:
        """What it takes to read what is read more than once."""
        near, far = self.read_again(work, caches)
        return self.refetch * near + max(self.reread, self.refetch) * far

    def nanoseconds(self, work: Work, caches: tuple[int, int], between: int = 0) -> float:
        """What a node takes."""
        return self.computed(work, caches, between) + self.moved(work.traffic, work.since, caches)


@dataclass(frozen=True)
class CostProfile:
    """The kernels of one processor."""

    processor: str
    family: Family
    xnnpack: str
    """The package with the library that was measured, and its version."""
    caches: tuple[int, int]
    """The bytes of a core's own cache, and of the last one before the memory: what one program gets of that."""
    kernels: Mapping[Kernel, KernelCost]
    """All of `FLOAT_KERNELS`, and what is known of the others."""
    between: int = 0
    """The bytes that a program moves between two reads of its weights."""
    generation: str = ""
    """One of `xir.cost.native.GENERATIONS`, by which `native` finds the profile; empty if that is not known."""
    isa: Isa = ""
    """The widest instructions that XNNPACK used when it was measured; empty if that is not known."""
    measured: str = ""
    """The date; empty if that is not known."""
    modelled: bool = False
    """Whether nobody measured it: then its processor's name says so, too."""
    wait: float | None = None
    """The nanoseconds that two threads wait for each other at the end of a node; None if nobody measured it."""
    threads: int = 1
    """How many share each node; files are of one."""

    @property
    def origin(self) -> str:
        """Where its figures come from, in words."""
        if self.modelled:
            return f"from public figures of the core, for {self.xnnpack}"
        lacks = [what for what, kernels in OPTIONAL.items() if not any(kernel in self.kernels for kernel in kernels)]
        return f"measured {self.measured or 'some day'} with {self.xnnpack}{''.join(f', no {what}' for what in lacks)}"

    def __hash__(self) -> int:
        return hash((self.processor, self.xnnpack, self.caches, self.between, self.threads))

    def knows(self, work: Work) -> bool:
        """Whether the node's kernel was measured."""
        return work.kernel in self.kernels

    def nanoseconds(self, work: Work) -> float:
        """What a node of a known kernel takes."""
        return self.kernels[work.kernel].nanoseconds(work, self.caches, self.between)

    def computed(self, work: Work) -> float:
        """That without what it takes to read its operands and to write its result."""
        return self.kernels[work.kernel].computed(work, self.caches, self.between)

    def moved(self, work: Work, since: int) -> float:
        """The rest of it, where so many bytes were moved since its operands were touched."""
        return self.kernels[work.kernel].moved(work.traffic, since, self.caches)

    def of_program(self, weights: int) -> CostProfile:
        """The same for a program with so many bytes of weights: too many for the last cache come from the memory."""
        return replace(self, between=weights)

    @property
    def waiting(self) -> float:
        """The nanoseconds that threads wait for each other at the end of a node."""
        return WAIT if self.wait is None else self.wait

    def on_threads(self, threads: int) -> CostProfile:
        """The profile of one thread, where so many share each node of a program."""
        if threads == 1:
            return self
        kernels = {name: cost.shared(threads, self.waiting) for name, cost in self.kernels.items()}
        return replace(self, kernels=kernels, threads=threads)

    def text(self) -> str:
        """The file."""
        lines = [
            "# What XNNPACK's nodes take on one thread: work in ns for each multiply-add, traffic, far, memory,",
            "# weights, streamed, reread and refetch for each byte, call for each node, row for each row or pixel;",
            *([] if self.wait is None else ["# wait for each node that two threads share;"]),
            f"# by `{'scripts/generate_profiles.py' if self.modelled else 'xir-tune'}`.",
            f"version = {VERSION}",
            *(["modelled = true"] if self.modelled else []),
            *(f'{name} = "{getattr(self, name)}"' for name in (*TEXTS, *LATER_TEXTS)),
            f"caches = {list(self.caches)}",
            *([] if self.wait is None else [f"wait = {_number(self.wait)}"]),
        ]
        for name, cost in self.kernels.items():
            lines += ["", f"[{name}]"]
            lines += [f"{field.name} = {_number(getattr(cost, field.name))}" for field in fields(cost)]
        return "\n".join(lines) + "\n"


def by_level(traffic: int, since: int, caches: tuple[int, int]) -> tuple[float, float, float]:
    """How many of a node's bytes come from a core's cache, how many from the last one, and how many from the memory.

    The bytes moved since, and the node's own, fill the caches one after the other, and the node's are spread evenly.
    """
    own, last = caches
    moved = since + traffic
    levels = min(moved, own), max(min(moved, last) - own, 0), max(moved - last, 0)
    share = traffic / moved if moved else 0.0
    return levels[0] * share, levels[1] * share, levels[2] * share


def weights_by_level(work: Work, caches: tuple[int, int], between: int) -> tuple[float, float, float]:
    """The same of a node's weights, for a program that moves so many bytes between two reads of them.

    What a product packs first has just been written, wherever it lies.
    """
    if work.kernel not in READ_WEIGHTS:
        return 0.0, float(work.weights), 0.0
    return by_level(work.weights, max((between if work.apart is None else work.apart) - work.weights, 0), caches)


def _number(value: float) -> str:
    """Four digits are more than a measurement has."""
    return str(value) if isinstance(value, int) else repr(float(f"{value:.4g}"))


def threads_text(threads: int) -> str:
    """How many threads, in words."""
    return "one thread" if threads == 1 else f"{threads} threads"


@cache
def shipped() -> tuple[str, ...]:
    """The names of the profiles that come with xir. Kept, since each compilation asks for them several times."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


@cache
def load_profile(name: str) -> CostProfile:
    """The profile of that name, or the file. ValueError for what is none, OSError for what cannot be read."""
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    if path.suffix != ".toml":
        raise ValueError(f"there is no profile '{name}': it is a .toml file, or one of {', '.join(shipped())}")
    return parse_profile(path.read_text(encoding="utf-8"), str(path))


def parse_profile(text: str, name: str) -> CostProfile:
    """The profile that a text is. ValueError says what is wrong in the file `name`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is no profile: {error}") from error
    if document.get("version") not in READ_VERSIONS:
        raise ValueError(
            f"{name} has version {document.get('version')!r}, this is version {VERSION}: run xir-tune anew"
        )
    texts = {key: document.get(key) for key in TEXTS} | {key: document.get(key, "") for key in LATER_TEXTS}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.isprintable() or '"' in value or "\\" in value:
            raise ValueError(f"{name}: {key} must be a text, it is {value!r}")
    if texts["family"] not in get_args(Family):
        raise ValueError(f"{name}: family must be one of {', '.join(get_args(Family))}, it is {texts['family']!r}")
    if texts["isa"] not in get_args(Isa):
        raise ValueError(f"{name}: isa must be one of {', '.join(filter(None, get_args(Isa)))}, it is {texts['isa']!r}")
    generations = [generation for names in GENERATIONS.values() for generation in names]
    if texts["generation"] not in ("", *generations):
        raise ValueError(f"{name}: generation must be one of {', '.join(generations)}, it is {texts['generation']!r}")
    if not isinstance(modelled := document.get("modelled", False), bool):
        raise ValueError(f"{name}: modelled must be true or false, it is {modelled!r}")
    if modelled and f"({MODELLED})" not in str(texts["processor"]):
        raise ValueError(
            f"{name}: a modelled profile's processor must say '({MODELLED})', it is {texts['processor']!r}"
        )
    if unknown := sorted(document.keys() - {"version", "modelled", "caches", "wait", *texts, *KERNELS}):
        raise ValueError(f"{name}: '{unknown[0]}' is none of the kernels {', '.join(KERNELS)}")
    kernels: dict[Kernel, KernelCost] = {
        kernel: _kernel_cost(document.get(kernel), f"{name}: [{kernel}]")
        for kernel in KERNELS
        if kernel in FLOAT_KERNELS or kernel in document
    }
    if document["version"] < 7:
        kernels |= {kernel: _of_version_6(kernel, kernels[kernel]) for kernel in READ_WEIGHTS if kernel in kernels}
    family = cast(Family, texts["family"])
    caches = _caches(document.get("caches"), f"{name}: caches")
    made = CostProfile(str(texts["processor"]), family, str(texts["xnnpack"]), caches, kernels)
    generation, isa, measured = (str(texts[key]) for key in LATER_TEXTS)
    wait = _wait(document.get("wait"), f"{name}: wait")
    return replace(made, generation=generation, isa=cast(Isa, isa), measured=measured, modelled=modelled, wait=wait)


def _of_version_6(kernel: Kernel, cost: KernelCost) -> KernelCost:
    """A product's costs of an older file, which has no figures for weights in a core's cache and what is read again."""
    return replace(cost, held=cost.weights, reread=cost.streamed if computes(kernel) == "gemm" else cost.reread)


def _caches(value: object, where: str) -> tuple[int, int]:
    match value:
        case [int(own), int(last)] if 0 < own <= last and not isinstance(own, bool):
            return own, last
        case _:
            raise ValueError(f"{where} must be two numbers of bytes, the smaller one first, they are {value!r}")


def _wait(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{where} must be a number, 0 or more, it is {value!r}")
    return float(value)


def _kernel_cost(table: object, where: str) -> KernelCost:
    if not isinstance(table, dict):
        raise ValueError(f"{where} is missing")
    values = cast("dict[str, object]", table)
    known = {field.name: field for field in fields(KernelCost)}
    if unknown := sorted(values.keys() - known.keys()):
        raise ValueError(f"{where} has no '{unknown[0]}'")
    if missing := [name for name in REQUIRED if name not in values]:
        raise ValueError(f"{where} lacks '{missing[0]}'")
    for key, value in values.items():
        whole = known[key].type == "int"
        least = known[key].default if whole else 0
        is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(cast(float, value)) or cast(float, value) < cast(float, least):
            wanted = f"a whole number from {least} on" if whole else "a number, 0 or more"
            raise ValueError(f"{where}: {key} must be {wanted}, it is {value!r}")
    return KernelCost(**cast("dict[str, float]", values))  # pyright: ignore[reportArgumentType]
