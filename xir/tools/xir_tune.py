"""`xir-tune`: measure XNNPACK's nodes on a machine, and write the cost profile that passes choose by."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from xir.cost.profile import COSTS, WAIT, CostProfile, KernelCost, parse_profile
from xir.cost.work import KERNELS
from xir.device.errors import DeviceError
from xir.files import atomic_file
from xir.tools.command_line import ArgumentParser, UsageError
from xir.tools.devices import add_device_options, device_of
from xir.tuning.kept import KeptTimes
from xir.tuning.machine import Measurable, fastest_core, measurable
from xir.tuning.run import Bench, Outcome
from xir.tuning.waiting import KEY

if TYPE_CHECKING:
    from xir.cost.work import Kernel
    from xir.device.session import Session
    from xir.device.transports import Transport
    from xir.tuning.fit import Fit
    from xir.tuning.samples import Sample

MINUTES = 20.0

FEWEST = 2
"""Times of a kernel that its costs are fitted to, at least."""

HEADINGS = (
    "ns/work", "ns/byte", "far", "memory", "of weights", "streamed", "ns/node", "ns/row",
    "held", "reread", "narrow", "refetch",
)  # fmt: skip
"""Of the table, in the order of `COSTS`."""


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="xir-tune",
        description="Measure XNNPACK's nodes over many sizes on this machine or a device, on one thread, and write a "
        "cost profile for `xir-aot --cpu FILE`. This takes at most twenty minutes; run nothing else there meanwhile. "
        "What ends early goes on by the same command: FILE.toml.measured keeps what was measured.",
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
        help="measure only these kernels, or 'wait', what two threads wait for each other, separated by commas, and "
        "keep the others' figures in FILE.toml",
    )
    add_device_options(parser, "measure on")
    parser.add_argument(
        "--core", metavar="N", type=int, help="the core to measure on (default: the fastest, where cores differ)"
    )
    parser.add_argument(
        "--minutes", metavar="M", type=float, default=MINUTES, help="how long to measure (default: %(default)s)"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run with the arguments (default: the process's). Returns the exit code."""
    try:
        return _tune(argument_parser().parse_args(argv))
    except (UsageError, DeviceError, OSError) as error:
        sys.stderr.write(f"xir-tune: error: {error}\n")
    except SystemExit as error:
        return int(error.code or 0)
    return 1


def _tune(options: argparse.Namespace) -> int:
    from xir.tuning.fit import fit_all, fit_share
    from xir.tuning.measure import by_coverage, fewest

    _check(options)
    every = options.samples or 1
    device = device_of(options)
    here, connect = _described(device, options.core)
    before = None if options.only is None else measured_before(options.output, here.xnnpack)
    kernels = KERNELS if options.only is None else kernels_of(options.only)
    chosen = [each for each in by_coverage(every) if each.kernel in kernels]
    kept = KeptTimes(options.output.with_name(options.output.name + ".measured"), here.identity())
    bench = Bench(connect, here.caches[1], kept, options.minutes * 60)
    outcome = bench.measure(chosen)
    _check_enough(outcome, [each for each in fewest(every) if each.kernel in kernels], device.name, kept)
    wait = bench.wait(device.open) if options.only is None or KEY in options.only.split(",") else None
    if before is None:
        caches, fits = fit_share(outcome.measured, here.caches)
        profile = CostProfile(
            options.processor or here.processor,
            here.machine.family,
            here.xnnpack,
            caches,
            costs_of(fits),
            generation=here.machine.generation,
            isa=here.machine.isa,
            measured=date.today().isoformat(),
            wait=wait,
        )
    else:
        fits = fit_all(outcome.measured, before.caches, before.kernels)
        found = {**before.kernels, **costs_of(fits)}
        ordered: dict[Kernel, KernelCost] = {kernel: found[kernel] for kernel in KERNELS if kernel in found}
        profile = replace(before, processor=options.processor or before.processor, kernels=ordered)
        profile = profile if wait is None else replace(profile, wait=wait)
    with atomic_file(options.output) as file:
        file.write(profile.text().encode("utf-8"))
    kept.discard()
    if fits:
        print(table(fits))
    if wait is not None:
        print(f"two threads wait {wait:.0f} ns for each other at the end of a node")
    elif options.only is None:
        print(f"what two threads wait for each other could not be measured, and counts as {WAIT:.0f} ns for each node")
    for count, why in ((len(outcome.left), "for lack of time"), (outcome.skipped, "that take too long or do not fit")):
        if count:
            print(f"without {count} sizes {why}")
    print(f"wrote {options.output}")
    return 0


def _check(options: argparse.Namespace) -> None:
    """UsageError for arguments that mean nothing."""
    if options.output.suffix != ".toml":
        raise UsageError(f"a profile is a .toml file, not '{options.output}'")
    if options.samples is not None and not 1 <= options.samples <= 4:
        raise UsageError(f"--samples is 1 to 4, not {options.samples}: there is too little to fit otherwise")
    name = options.processor or ""
    if not name.isprintable() or '"' in name or "\\" in name:
        raise UsageError(f"--processor takes a printable name without quotes and backslashes, not {name!r}")
    if not options.output.parent.is_dir():
        raise UsageError(f"there is no folder '{options.output.parent}'")
    if not 0 < options.minutes < math.inf:
        raise UsageError(f"--minutes takes a number above 0, not {options.minutes}")
    if options.core is not None and options.core < 0:
        raise UsageError(f"--core takes a core's number from 0 on, not {options.core}")
    if options.only is not None:
        kernels_of(options.only)
        if not options.output.is_file():
            raise UsageError(
                f"--only keeps the other kernels' figures of {options.output}, which there is not: leave it out"
            )


def _described(device: Transport, core: int | None) -> tuple[Measurable, Callable[[], Session]]:
    """What the device is, and how to connect to it so that everything runs on one core. DeviceError if it is lost."""
    with device.open() as session:
        chosen = fastest_core(session.hello.cores) if core is None else core
        here = measurable(session.hello, session.core(chosen), device.name == "local")

    def connect() -> Session:
        session = device.open()
        if chosen is not None:
            session.core(chosen)
        return session

    return here, connect


def _check_enough(outcome: Outcome, needed: Sequence[Sample], device: str, kept: KeptTimes) -> None:
    """DeviceError if there is too little to fit."""
    left = set(needed) & set(outcome.left)
    if left:
        raise DeviceError(
            f"{device}: there was no time for {len(left)} of the {len(needed)} sizes that a profile needs at least; "
            f"{kept.path} keeps the others: the same command goes on from there"
        )
    for kernel in dict.fromkeys(each.kernel for each in needed):
        measured = sum(each.sample.kernel == kernel for each in outcome.measured)
        if measured < FEWEST:
            raise DeviceError(
                f"{device}: {measured} sizes of the kernel {kernel} are too few to fit, and {outcome.skipped} take too "
                f"long or do not fit there: give more --minutes, after removing {kept.path}"
            )


def kernels_of(names: str) -> list[Kernel]:
    """Those that `--only` names. UsageError for what is none."""
    given = names.split(",")
    if unknown := [name for name in given if name not in (*KERNELS, KEY)]:
        raise UsageError(f"--only: '{unknown[0]}' is neither '{KEY}' nor one of the kernels {', '.join(KERNELS)}")
    return [kernel for kernel in KERNELS if kernel in given]


def measured_before(file: Path, xnnpack: str) -> CostProfile:
    """The profile that `--only` completes. UsageError for what is none or of another XNNPACK."""
    try:
        profile = parse_profile(file.read_text(encoding="utf-8"), str(file))
    except ValueError as error:
        raise UsageError(str(error)) from error
    if profile.xnnpack != xnnpack:
        raise UsageError(f"{file} is of {profile.xnnpack}, this is {xnnpack}: leave --only out")
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
