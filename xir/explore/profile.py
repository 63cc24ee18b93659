"""The profile that `xnn_executor_runner --profile-trace` writes: what each node and each kernel call took."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JUMP = "jump"
UNTIMED = ("move", "free")
"""Instructions of which a profile has no times."""


class ProfileError(ValueError):
    """A file is no such profile, or not the program's; the message is for the user."""


@dataclass(frozen=True)
class Ran:
    """What ran for one node or call."""

    microseconds: float
    """On average over the executions."""
    operators: tuple[str, ...]
    """XNNPACK's operators, or the kernel, each with its microkernel if that is known."""
    origins: frozenset[str] = frozenset()
    """The ATen operators that it computes; none if the program was written without debug information."""
    result_bytes: frozenset[int] = frozenset()
    """What an operator writes, at the largest shapes; more than one number if operators differ."""
    constant_bytes: frozenset[int] = frozenset()
    """What an operator has of constants, likewise."""


@dataclass(frozen=True)
class MethodProfile:
    """Where the time of a method's executions went; times are means."""

    method: str
    executions: int
    microseconds: float
    """Of a whole execution, by the wall clock."""
    nodes: dict[tuple[int, int], Ran]
    """By number of the delegate and of the node in it."""
    calls: dict[int, Ran]
    """Kernel and delegate calls, by number of the instruction."""
    unexplained: float
    """Of operators in delegates that no one node explains."""


@dataclass(frozen=True)
class ProfiledNode:
    """What is known of a node of a program before it runs."""

    origins: frozenset[str]
    """The ATen operators that it computes, if they are known."""
    result_bytes: int | None
    """What it writes; None if its sizes are open, or its bytes are XNNPACK's to choose."""
    constant_bytes: int | None
    """What it has of constants."""


@dataclass(frozen=True)
class Counted:
    """What profiles of a program count."""

    methods: Sequence[str]
    nodes: Mapping[tuple[str, int, int], ProfiledNode]
    """By method, and number of the delegate and of the node in it."""
    calls: Mapping[tuple[str, int], str]
    """By method and number of the instruction: what it calls."""


@dataclass
class _Sum:
    total: float = 0.0
    operators: dict[str, None] = field(default_factory=dict[str, None])
    origins: set[str] = field(default_factory=set[str])
    result_bytes: set[int] = field(default_factory=set[int])
    constant_bytes: set[int] = field(default_factory=set[int])

    def ran(self, executions: int) -> Ran:
        sets = (frozenset(each) for each in (self.result_bytes, self.constant_bytes))
        return Ran(self.total / executions, tuple(self.operators), frozenset(self.origins), *sets)


def read_profile(path: str | Path) -> MethodProfile:
    """Read a trace. OSError if there is none; ProfileError if it is none that the runner wrote."""
    try:
        content: Any = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"'{path}' is no JSON: {error}") from error
    try:
        return _profile(content["traceEvents"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProfileError(
            f"'{path}' is no trace of an execution: write one with `xnn_executor_runner --profile-trace`"
        ) from error


def check_profile(profile: MethodProfile, counted: Counted) -> None:
    """ProfileError if the profile is of another program than the one with these parts."""
    if profile.method not in counted.methods:
        known = ", ".join(f"'{method}'" for method in counted.methods) or "none"
        raise ProfileError(f"the profile is of a method '{profile.method}', the program has {known}")
    for (delegate, number), ran in profile.nodes.items():
        node = counted.nodes.get((profile.method, delegate, number))
        where = f"node {number} of delegate {delegate}"
        if node is None:
            raise ProfileError(f"the profile is of another program: it has a {where}, which this one lacks")
        if node.origins and ran.origins and node.origins.isdisjoint(ran.origins):
            names = " and here ".join("+".join(sorted(each)) for each in (ran.origins, node.origins))
            raise ProfileError(f"the profile is of another program: {where} computes {names}")
        _check_bytes(f"{where} writes", ran.result_bytes, node.result_bytes)
        _check_bytes(f"{where} has constants of", ran.constant_bytes, node.constant_bytes)
    _check_calls(profile, {key[1]: label for key, label in counted.calls.items() if key[0] == profile.method})


def _check_bytes(what: str, ran: frozenset[int], known: int | None) -> None:
    if known is not None and ran and known not in ran:
        sizes = f"{min(ran)} bytes in it, and here {known}"
        raise ProfileError(f"the profile is of another program, or of other input sizes: {what} {sizes}")


def called(name: str) -> str:
    """A kernel without `aten::`, or that it is a delegate: it has a number here and a name there."""
    return "a delegate" if name.startswith("delegate ") else name.removeprefix("aten::").partition(", ")[0]


def _check_calls(profile: MethodProfile, calls: Mapping[int, str]) -> None:
    """ProfileError if what ran is not what a method's instructions call; a module that has none yet says nothing."""
    if not calls:
        return
    for number, ran in profile.calls.items():
        if calls.get(number) not in (names := {called(name) for name in ran.operators}):
            raise ProfileError(
                f"the profile is of another program: instruction {number} calls {min(names)} in it, and here "
                f"{calls.get(number, 'there is none')}"
            )
    if not any(label.startswith(JUMP) for label in calls.values()):
        for number in calls.keys() - profile.calls.keys():
            if calls[number] not in UNTIMED:
                raise ProfileError(f"the profile is of another program: it lacks instruction {number}, {calls[number]}")


def _profile(events: list[dict[str, Any]]) -> MethodProfile:
    nodes: dict[tuple[int, int], _Sum] = defaultdict(_Sum)
    calls: dict[int, _Sum] = defaultdict(_Sum)
    executions, duration, unexplained = 0, 0.0, 0.0
    method = ""
    for event in events:
        if event["ph"] != "X":
            continue
        arguments = event["args"]
        took = float(event["dur"])
        if event["cat"] == "execution":
            executions, duration, method = executions + 1, duration + took, str(event["name"])
            continue
        if event["cat"] != "operator":
            sum = calls[int(arguments["instruction"])]
        elif "node" in arguments:
            sum = nodes[int(arguments["delegate"]), int(arguments["node"])]
        else:
            unexplained += took
            continue
        microkernel = arguments.get("microkernel")
        sum.total += took
        sum.origins.update(str(arguments.get("op", "")).replace("+", " ").split())
        sum.result_bytes.add(int(arguments["result_bytes"]))
        sum.constant_bytes.add(int(arguments["constant_bytes"]))
        sum.operators[f"{event['name']}, {microkernel}" if microkernel else str(event["name"])] = None
    if not executions:
        raise ValueError("no execution")
    return MethodProfile(
        method,
        executions,
        duration / executions,
        {key: each.ran(executions) for key, each in nodes.items()},
        {key: each.ran(executions) for key, each in calls.items()},
        unexplained / executions,
    )
