"""`xir-tune`: measure XNNPACK's nodes on this machine, and write the cost profile that passes choose by."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from xir.cost.native import this_machine
from xir.cost.profile import COSTS, CostProfile, KernelCost, parse_profile
from xir.cost.work import KERNELS
from xir.files import atomic_file
from xir.tools.command_line import ArgumentParser, UsageError
from xir.tuning.machine import cache_sizes, processor_name, xnnpack_name

if TYPE_CHECKING:
    from xir.cost.work import Kernel
    from xir.tuning.fit import Fit

HEADINGS = (
    "ns/work", "ns/byte", "far", "memory", "of weights", "streamed", "ns/node", "ns/row", "held", "reread", "narrow"
)  # fmt: skip
"""Of the table, in the order of `COSTS`."""


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="xir-tune",
        description="Measure XNNPACK's nodes over many sizes on this machine, on one thread, and write a cost profile "
        "for `xir-aot --cpu FILE`. This takes some twenty minutes; run nothing else meanwhile.",
        allow_abbrev=False,
    )
    parser.add_argument("-o", dest="output", metavar="FILE.toml", type=Path, required=True, help="the profile to write")
    parser.add_argument("--processor", metavar="NAME", help="the processor's name in the profile")
    parser.add_argument(
        "--samples", metavar="N", type=int, help="measure only every N-th size, for a rough profile in less time"
    )
    parser.add_argument(
        "--only",
        metavar="KERNELS",
        help="measure only these kernels, separated by commas, and keep the others' figures in FILE.toml",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run with the arguments (default: the process's). Returns the exit code."""
    try:
        return _tune(argument_parser().parse_args(argv))
    except (UsageError, OSError) as error:
        sys.stderr.write(f"xir-tune: error: {error}\n")
    except SystemExit as error:
        return int(error.code or 0)
    return 1


def _tune(options: argparse.Namespace) -> int:
    from xir.tuning.fit import fit_all, fit_share
    from xir.tuning.measure import measure, samples

    if options.output.suffix != ".toml":
        raise UsageError(f"a profile is a .toml file, not '{options.output}'")
    if options.samples is not None and not 1 <= options.samples <= 4:
        raise UsageError(f"--samples is 1 to 4, not {options.samples}: there is too little to fit otherwise")
    processor = options.processor or processor_name()
    if not processor.isprintable() or '"' in processor or "\\" in processor:
        raise UsageError(f"--processor takes a printable name without quotes and backslashes, not {processor!r}")
    if not options.output.parent.is_dir():
        raise UsageError(f"there is no folder '{options.output.parent}'")
    every, sizes = options.samples or 1, cache_sizes()
    if options.only is None:
        caches, fits = fit_share(measure(samples(every), sizes[1]), sizes)
        here = this_machine()
        profile = CostProfile(
            processor,
            here.family,
            xnnpack_name(),
            caches,
            costs_of(fits),
            generation=here.generation,
            isa=here.isa,
            measured=date.today().isoformat(),
        )
    else:
        kernels, before = kernels_of(options.only), measured_before(options.output)
        chosen = [each for each in samples(every) if each.kernel in kernels]
        fits = fit_all(measure(chosen, sizes[1]), before.caches, before.kernels)
        found = {**before.kernels, **costs_of(fits)}
        ordered: dict[Kernel, KernelCost] = {kernel: found[kernel] for kernel in KERNELS if kernel in found}
        profile = replace(before, processor=options.processor or before.processor, kernels=ordered)
    with atomic_file(options.output) as file:
        file.write(profile.text().encode("utf-8"))
    print(table(fits))
    print(f"wrote {options.output}")
    return 0


def kernels_of(names: str) -> list[Kernel]:
    """Those that `--only` names. UsageError for what is none."""
    given = names.split(",")
    if unknown := [name for name in given if name not in KERNELS]:
        raise UsageError(f"--only: '{unknown[0]}' is none of the kernels {', '.join(KERNELS)}")
    return [kernel for kernel in KERNELS if kernel in given]


def measured_before(file: Path) -> CostProfile:
    """The profile that `--only` completes. UsageError for what is none or of another XNNPACK, OSError for no file."""
    try:
        profile = parse_profile(file.read_text(encoding="utf-8"), str(file))
    except ValueError as error:
        raise UsageError(str(error)) from error
    if profile.xnnpack != xnnpack_name():
        raise UsageError(f"{file} is of {profile.xnnpack}, this is {xnnpack_name()}: leave --only out")
    return profile


def costs_of(fits: Mapping[Kernel, Fit]) -> dict[Kernel, KernelCost]:
    """Of each kernel."""
    return {kernel: fit.cost for kernel, fit in fits.items()}


def table(fits: Mapping[Kernel, Fit]) -> str:
    """How well each kernel's costs explain what was measured."""
    rows: list[tuple[str, ...]] = [("kernel", "samples", *HEADINGS, "off by")]
    for kernel, fit in fits.items():
        cost = fit.cost
        figures = (f"{getattr(cost, name):.3g}" for name in COSTS)
        rows.append((kernel, str(fit.samples), *figures, f"{fit.error:.0%}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
