"""The profile that `xnn_executor_runner --profile-trace` writes: what each node and each kernel call took."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class ProfileError(ValueError):
    """A file is no such profile, or not the program's; the message is for the user."""


@dataclass(frozen=True)
class Ran:
    """What ran for one node or call."""

    microseconds: float
    """On average over the executions."""
    operators: tuple[str, ...]
    """XNNPACK's operators, or the kernel, each with its microkernel if that is known."""


@dataclass(frozen=True)
class Profile:
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


@dataclass
class _Sum:
    total: float = 0.0
    operators: dict[str, None] = field(default_factory=dict[str, None])

    def ran(self, executions: int) -> Ran:
        return Ran(self.total / executions, tuple(self.operators))


def read_profile(path: str | Path) -> Profile:
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


def check_profile(profile: Profile, methods: Sequence[str], nodes: Container[tuple[str, int, int]]) -> None:
    """ProfileError if the profile is of another program than the one with these methods and nodes of delegates."""
    if profile.method not in methods:
        known = ", ".join(f"'{method}'" for method in methods) or "none"
        raise ProfileError(f"the profile is of a method '{profile.method}', the program has {known}")
    for delegate, node in profile.nodes:
        if (profile.method, delegate, node) not in nodes:
            raise ProfileError(
                f"the profile is of another program: it has a node {node} of delegate {delegate}, which this one lacks"
            )


def _profile(events: list[dict[str, Any]]) -> Profile:
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
        sum.operators[f"{event['name']}, {microkernel}" if microkernel else str(event["name"])] = None
    if not executions:
        raise ValueError("no execution")
    return Profile(
        method,
        executions,
        duration / executions,
        {key: each.ran(executions) for key, each in nodes.items()},
        {key: each.ran(executions) for key, each in calls.items()},
        unexplained / executions,
    )
