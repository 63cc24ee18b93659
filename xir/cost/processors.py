"""What `--cpu` names: the processors that the fastest nodes are chosen for, and the profiles to choose by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import inf

from xir.cost.native import Family, Machine, distance, installed_xnnpack, this_family, this_machine
from xir.cost.profile import MODELLED, CostProfile, load_profile, shipped

GENERIC_GAIN = 0.05
"""The share of an op's time that each of several profiles must predict a form to save."""

MODELLED_SPEED = 1.3
"""How many times as fast a form must be by a profile that nobody measured."""

GENERIC_GROWTH = 0.25
"""How much of its weights' bytes a file for several processors grows by at most, unless it is said."""

MEANINGS = {
    "any": "no form is chosen by the processor",
    "x86": "what every x86 processor gains by, without a profile",
    "generic": "forms that all profiles of this machine's architecture agree on (default)",
    "generic-x86": "forms that all profiles of x86 processors agree on",
    "generic-arm": f"forms {MODELLED_SPEED} times as fast by all profiles of Arm processors, {MODELLED}",
    "native": "the profile of this machine's processor, or the nearest one of its vendor",
}
"""What `--cpu` takes besides profiles."""


@dataclass(frozen=True)
class Processors:
    """Those that a file's nodes are chosen for. It runs on all others, too."""

    name: str
    family: Family = "any"
    profiles: tuple[CostProfile, ...] = ()
    """What a node takes on each; none where forms are not chosen by figures."""
    reason: str = ""
    """Why these, for a name that depends on the machine; and what is to be said of their profile."""
    threads: int = 0
    """How many share each node by the profiles; 0 for one, if nobody has said how many the file is for."""

    @property
    def is_generic(self) -> bool:
        """Whether forms have to gain on several processors."""
        return self.name.startswith("generic")

    @property
    def counted_threads(self) -> tuple[int, ...]:
        """The numbers of threads that a form has to suit: a file for several processors is for several threads, too,
        unless it is said."""
        return (self.threads,) if self.threads else (1, 2) if self.is_generic else (1,)

    @property
    def also_on_two(self) -> bool:
        """Whether two threads count as much as the one that the profiles are of."""
        return len(self.counted_threads) > 1

    @property
    def growth(self) -> float | None:
        """How much the weights may grow by unless it is said, as a share of them; None for no limit."""
        return GENERIC_GROWTH if self.is_generic else None

    def budget(self, weights: int, max_growth: float | None) -> int | None:
        """The bytes that a program's weights may grow by, if they take so many; None for no limit.

        `max_growth` is the share that is asked for; None stands for that of these processors."""
        growth = self.growth if max_growth is None else max_growth
        return None if growth is None or growth == inf else int(growth * weights)

    def of_program(self, weights: int) -> tuple[CostProfile, ...]:
        """The profiles for a program with so many bytes of weights."""
        return tuple(profile.of_program(weights) for profile in self.profiles)


def least_saved(profile: CostProfile, measured: float) -> float:
    """The share of an op's time that a form must save by a profile: by one that was measured, as much as is given."""
    return max(measured, 1 - 1 / MODELLED_SPEED) if profile.modelled else measured


def caveat(profiles: Iterable[CostProfile]) -> str:
    """What remarks say behind times by profiles of which some were not measured."""
    return f", {MODELLED}" if any(profile.modelled for profile in profiles) else ""


def check_growth(max_growth: float | None) -> None:
    """ValueError for what is no share of bytes to grow by."""
    if max_growth is not None and not max_growth >= 0:
        raise ValueError(f"max-growth is a share from 0 on, not {max_growth}")


def check_threads(threads: int) -> None:
    """ValueError for what is no number of threads to choose for."""
    if threads < 0:
        raise ValueError(f"threads is a number from 1 on, or 0 for what cpu says, not {threads}")


def known_names() -> list[str]:
    """What `--cpu` takes, besides files."""
    return [*MEANINGS, *shipped()]


def processors(cpu: str, threads: int = 0) -> Processors:
    """The processors that `cpu` names, where so many threads share each node; 0 if that is not said.

    ValueError for what names none, for a file that cannot be read, and for no number of threads.
    """
    check_threads(threads)
    found = _named(cpu)
    if not threads:
        return found
    return replace(found, profiles=tuple(each.on_threads(threads) for each in found.profiles), threads=threads)


def _named(cpu: str) -> Processors:
    match cpu:
        case "any":
            return Processors(cpu)
        case "x86":
            return Processors(cpu, "x86")
        case "generic":
            return generic(this_family())
        case "generic-x86":
            return generic("x86")
        case "generic-arm":
            return generic("arm")
        case "native":
            return nearest(this_machine())
        case _:
            profile = _one(cpu)
            return Processors(cpu, profile.family, (profile,), other_library(profile))


def _one(cpu: str) -> CostProfile:
    if cpu not in shipped() and not cpu.endswith(".toml"):
        raise ValueError(f"cpu is one of {', '.join(known_names())}, or a .toml file of xir-tune, not '{cpu}'")
    try:
        return load_profile(cpu)
    except OSError as error:
        raise ValueError(f"cannot read the profile '{cpu}': {error.strerror}") from error


def other_library(profile: CostProfile) -> str:
    """What is to be said of a profile that was measured here or elsewhere with another package of XNNPACK's than is
    installed; an empty text for the same one, and where nobody can tell."""
    installed = installed_xnnpack()
    package = installed.partition(" ")[0]
    if not installed or profile.xnnpack == installed or profile.xnnpack.partition(" ")[0] != package:
        return ""
    return f"measured with {profile.xnnpack}, installed is {installed}, whose kernels may take other times"


@cache
def generic(family: Family) -> Processors:
    """Those of an architecture: all profiles of its processors."""
    profiles = tuple(profile for profile in map(load_profile, shipped()) if profile.family == family)
    return Processors(f"generic-{family}", family, profiles)


def one_profile(cpu: str, threads: int = 1) -> CostProfile:
    """The profile of the one processor that `cpu` names, where so many threads share each node. ValueError for what
    names none, or several."""
    found = processors(cpu, threads).profiles
    if len(found) != 1:
        raise ValueError(f"'{cpu}' is not one processor: name a profile, {', '.join(shipped())} or a .toml file")
    return found[0]


def nearest(machine: Machine) -> Processors:
    """What `native` stands for on a machine: the profile of its generation, else the nearest of its vendor that has
    the same instructions, else what all profiles of its architecture agree on."""
    near = [
        (apart, -index, name)
        for index, name in enumerate(shipped())
        if (profile := load_profile(name)).isa == machine.isa
        and (apart := distance(profile.generation, machine.generation)) is not None
    ]
    if not near:
        return replace(generic(machine.family), reason=f"{machine} has no profile near it")
    apart, _, name = min(near)
    profile = load_profile(name)
    reason = f"this is {machine}" if apart == 0 else f"this is {machine}, whose nearest profile is of {name}"
    return Processors(name, profile.family, (profile,), f"{reason}{caveat([profile])}")


def table() -> str:
    """What `--cpu help` prints: each name, and what it is."""
    rows = {
        **MEANINGS,
        **{name: f"{(profile := load_profile(name)).processor}: {profile.origin}" for name in shipped()},
    }
    width = max(map(len, rows))
    return "".join(f"{name:{width}}  {meaning}\n" for name, meaning in rows.items())
