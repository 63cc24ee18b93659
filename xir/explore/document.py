"""What the page is made of: stages, remarks and a profile as plain data, ready to become JSON.

Texts that come again and again (lines, names, types, places) are in tables, and stand elsewhere as numbers in them. The
page's script (`assets/page.js`) reads what is written here; both change together.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from xir.dialects.delegate import GraphOp
from xir.dialects.pte import DelegateCallOp
from xir.dialects.pte.values import ValueOp
from xir.emitter.debug_info import shown_path
from xir.explore.difference import difference
from xir.explore.errors import Errors
from xir.explore.graph import Key, draw
from xir.explore.layout import Point
from xir.explore.profile import Counted, MethodProfile, check_profile
from xir.explore.runnable import runnable
from xir.explore.snapshot import SnapshotEntry, label_of, take, value_type
from xir.ir.diagnostics import Diagnostic
from xir.ir.location import format_location, origins_of

LETTER = 7.3
"""The width of a letter of a node's first line in pixels, and of the others."""
SMALL_LETTER = 6.1
LONGEST = 34
"""Letters of a line in a node."""
LINE = 15.0

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class PictureNode:
    """An entry's node in the picture."""

    entry: int
    captions: list[str]
    rectangle: tuple[float, float, float, float]
    """x, y, width and height, in pixels."""
    is_box: bool


@dataclass(frozen=True)
class PictureEdge:
    """A value on its way from one entry's node to another's."""

    source: int
    target: int
    type: str
    path: list[Point]


@dataclass
class Stage:
    """The program behind one pass. It is data: passes may change the module that it was made of."""

    name: str
    """The pass with its options."""
    summary: str
    lines: list[str]
    entries: list[SnapshotEntry]
    nodes: list[PictureNode]
    """A box comes before what is in it."""
    edges: list[PictureEdge]
    size: Point
    """Of the picture, in pixels."""
    counted: Counted
    delegated: Mapping[tuple[str, int, int], int]
    """Method, delegate and number of a delegate's node -> its entry."""
    calls: Mapping[tuple[str, int], int]
    """Method and number of an instruction -> its entry."""
    idle: list[str] = field(default_factory=list[str])
    """The passes that came next and changed nothing."""


def stage_of(module: ModuleOp, name: str, summary: str = "") -> Stage:
    """The stage that a module is."""
    snapshot = take(module)
    index, picture = snapshot.index, draw(module, _size)
    nodes = [
        PictureNode(
            index[placed.node.key],
            captions(placed.node.key),
            (placed.x, placed.y, placed.width, placed.height),
            bool(placed.node.inner),
        )
        for placed in picture.nodes
    ]
    edges = [
        PictureEdge(index[edge.source.key], index[edge.target.key], value_type(edge.value), edge.path)
        for edge in picture.edges
    ]
    size = picture.width, picture.height
    found = runnable(module)
    delegated = {key: index[op] for key, op in found.nodes.items()}
    calls = {key: index[op] for key, op in found.calls.items()}
    return Stage(name, summary, snapshot.lines, snapshot.entries, nodes, edges, size, found.counted(), delegated, calls)


# --- Nodes -------------------------------------------------------------------------------------------------------


def captions(key: Key) -> list[str]:
    """The lines of a node: what it computes, the type of what comes out, and the module that it is of."""
    if isinstance(key, BlockArgument):
        return ["input", _short_type(value_type(key))]
    if isinstance(key, ValueOp):
        return ["input", _short_type(value_type(key.value))]
    lines = [_cut(label_of(key))]
    if key.results:
        lines.append(_short_type(value_type(key.results[0])))
    modules = dict.fromkeys(origin.module for origin in origins_of(key.location) if origin.module)
    if modules and not isinstance(key, GraphOp | DelegateCallOp):
        first, *others = modules
        lines.append(_cut(f"{first} +{len(others)}" if others else first))
    return lines


def _short_type(type: str) -> str:
    """`tensor<1x4xf32>` -> `1x4xf32`; a quantised element is told by what stores it."""
    inner = type.removeprefix("tensor<").removesuffix(">") if type.startswith("tensor<") else type
    head, quantized, rest = inner.partition("!quant.uniform<")
    return _cut(f"{head}{rest.partition(':')[0].partition('<')[0]} quantised" if quantized else inner)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2 - 1]}…{text[-LONGEST // 2 :]}"


def _size(key: Key) -> Point:
    title, *others = captions(key)
    width = max(len(title) * LETTER, *(len(line) * SMALL_LETTER for line in others), 40.0)
    return width + 20, LINE * (1 + len(others)) + 12


# --- JSON --------------------------------------------------------------------------------------------------------


class _Table:
    """Values, each once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, value: Hashable) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def document(
    stages: Sequence[Stage],
    remarks: Sequence[Diagnostic] = (),
    profile: MethodProfile | None = None,
    title: str = "",
    errors: Errors | None = None,
    charts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What a page of these stages shows, as JSON holds it; `charts` are those of `charts_of`.

    ProfileError if the profile is of another program.
    """
    made = _Document().make(stages, remarks, profile, title)
    made["errors"] = {name: [each.own, each.sqnr, each.outputs] for name, each in (errors or {}).items()}
    made["charts"] = charts or None
    return made


class _Document:
    def __init__(self) -> None:
        self._lines, self._strings, self._places = _Table(), _Table(), _Table()

    def make(
        self, stages: Sequence[Stage], remarks: Sequence[Diagnostic], profile: MethodProfile | None, title: str
    ) -> dict[str, Any]:
        made: list[dict[str, Any]] = []
        for before, stage in zip([None, *stages], stages, strict=False):
            made.append(self._stage(stage, before))
        times = None if profile is None or not stages else self._times(stages[-1], profile)
        said = [self._remark(remark) for remark in remarks]
        return {
            "title": title,
            "stages": made,
            "remarks": said,
            "profile": times,
            "lines": list(self._lines.numbers),
            "strings": list(self._strings.numbers),
            "places": [
                [shown_path(place.file), place.line, place.module, place.op, place.name]
                for place in self._places.numbers
            ],
        }

    def _stage(self, stage: Stage, before: Stage | None) -> dict[str, Any]:
        return {
            "name": stage.name,
            "summary": stage.summary,
            "idle": stage.idle,
            "lines": [self._lines.number(line) for line in stage.lines],
            "diff": None if before is None else difference(before.lines, stage.lines),
            "ops": [self._op(entry) for entry in stage.entries],
            "graph": self._graph(stage),
        }

    def _op(self, entry: SnapshotEntry) -> dict[str, Any]:
        string = self._strings.number
        return {
            "name": string(entry.name),
            "label": string(entry.label),
            "span": [entry.first, entry.last],
            "parent": entry.parent,
            "operands": [[use.owner, string(use.name), string(use.type)] for use in entry.operands],
            "results": [[string(use.name), string(use.type)] for use in entry.results],
            "places": [self._places.number(place) for place in entry.places],
            **({} if entry.macs is None else {"macs": entry.macs}),
            **({} if entry.nbytes is None else {"bytes": entry.nbytes}),
            **({"constant": 1} if entry.constant else {}),
        }

    def _graph(self, stage: Stage) -> dict[str, Any]:
        return {
            "size": [round(number) for number in stage.size],
            "nodes": [
                {
                    "op": node.entry,
                    "at": [round(number) for number in node.rectangle],
                    "text": [self._strings.number(line) for line in node.captions],
                    **({"box": 1} if node.is_box else {}),
                }
                for node in stage.nodes
            ],
            "edges": [
                {
                    "from": edge.source,
                    "to": edge.target,
                    "type": self._strings.number(edge.type),
                    "path": [round(number) for point in edge.path for number in point],
                }
                for edge in stage.edges
            ],
        }

    def _remark(self, remark: Diagnostic) -> dict[str, Any]:
        return {
            "severity": remark.severity.value,
            "where": format_location(remark.location),
            "message": remark.message,
            "notes": [note.message for note in remark.notes],
            "places": [self._places.number(place) for place in origins_of(remark.location)],
        }

    def _times(self, stage: Stage, profile: MethodProfile) -> dict[str, Any]:
        """The times of the last stage's ops."""
        check_profile(profile, stage.counted)
        ran = [(stage.delegated[(profile.method, *key)], each) for key, each in profile.nodes.items()]
        calls = ((stage.calls.get((profile.method, key)), each) for key, each in profile.calls.items())
        return {
            "executions": profile.executions,
            "total": profile.microseconds,
            "unexplained": profile.unexplained,
            "ops": [
                [entry, round(each.microseconds, 3), list(each.operators)]
                for entry, each in [*ran, *calls]
                if entry is not None
            ],
        }
