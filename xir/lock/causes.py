"""What made a fact worse: the remark of the pass that did it, or the layers that a sum comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from xir.dialects import pte
from xir.ir.diagnostics import Diagnostic
from xir.ir.location import origins_of
from xir.ir.remarks import Remark, RemarkFilter
from xir.lock.comparison import Change
from xir.lock.facts import Facts, line_of, type_text
from xir.lock.kinds import Key
from xir.lock.layers import OperatorLayer
from xir.lock.lock_file import Lock, key_text
from xir.transforms.delegate.forming.marks import NotDelegated
from xir.transforms.pte.memory.arenas import ARENA, BUFFERS
from xir.transforms.pte.memory.bounds import Alive, arena_of
from xir.transforms.xnnpack.analysis.composed import ComposedOp
from xir.transforms.xnnpack.analysis.stays_float import StaysFloat

REMARKS = RemarkFilter.of(missed=".*", failed=".*")
"""The remarks to ask passes for beside those that they make anyway: what they did not do, and why."""

MOST_NAMED = 3
"""How many layers or tensors a sum is said to come from."""

MOST_PASSES = 6
"""How many passes are named that ran in another way: if a whole pipeline did, their names say nothing more."""

_MISSING = {
    "accuracy": "nothing has measured it: give the same --metric",
    "microseconds": "nothing has predicted it: give the same --cpu",
    "pass": "it no longer runs",
}
"""Why a fact is gone."""

_OF_LAYERS = ("multiply-adds", "bytes-moved", "microseconds", "memory", "quantised")


@dataclass(frozen=True)
class Causes:
    """Tells causes of one build by its remarks."""

    lock: Lock
    facts: Facts
    remarks: Sequence[Diagnostic]

    def __call__(self, change: Change) -> str:
        """What made a change, with the line of the model; nothing if that cannot be told."""
        kind = change.key[0]
        if change.after is None and kind in _MISSING:
            return _MISSING[kind]
        if kind == "outside":
            return self._of_ops(change.key)
        if kind == "layer":
            return self._with_lines(change.key)
        if kind == "delegates":
            return self._outside(change.key[1])
        if kind == "arena":
            return self._arena(change.key)
        if kind == "bytes":
            return self._added() or self._layers(None)
        if kind in _OF_LAYERS:
            return self._layers(change.key[1])
        return ""

    def _of_ops(self, key: Key) -> str:
        """The remark about the ops that a fact is about; of a layer, and without a remark, the passes that differ."""
        said = self._about(self.facts.places.get(key, ()), is_composed=key[0] != "layer" or self._is_composed(key))
        return "; ".join(filter(None, [said, self._passes() if key[0] == "layer" or not said else ""]))

    def _with_lines(self, key: Key) -> str:
        """The same, and where the ops are in the model."""
        places = dict.fromkeys(line for op in self.facts.places.get(key, ()) if (line := line_of(op)))
        return "; ".join(filter(None, [self._of_ops(key), f"from {', '.join(places)}" if places else ""]))

    def _is_composed(self, key: Key) -> bool:
        """Whether a layer has a form of several nodes in this build."""
        value = self.facts.values.get(key)
        return value is not None and OperatorLayer.parse(value).is_composed

    def _about(self, ops: Iterable[Operation], *, is_composed: bool) -> str:
        """What passes said of ops: that one is not delegated or stays in float, else what was missed. Forms of several
        nodes are those of other ops on the same line, unless `is_composed`."""
        origins = {origin for op in ops for origin in origins_of(op.location)}
        found = [each for each in self.remarks if isinstance(each, Remark) and origins & set(origins_of(each.location))]
        found = [each for each in found if is_composed or not isinstance(each, ComposedOp)]
        weighty = [each for each in found if isinstance(each, NotDelegated | StaysFloat)]
        for remark in weighty or found:
            return f"{remark.category}: {remark.reason or remark.text}"
        return ""

    def _passes(self) -> str:
        """The passes that ran with other options when the lock was written, or that no longer run."""
        changed: list[str] = []
        for key, before in self.lock.values.items():
            if key[0] != "pass":
                continue
            if (after := self.facts.values.get(key)) is None:
                changed.append(f"{key[1]} no longer runs")
            elif (old := _options(before)) != (new := _options(after)):
                changed.append(f"{key[1]} ran {old}, now {new}")
        more = [f"and {len(changed) - MOST_PASSES} more passes"] if len(changed) > MOST_PASSES else []
        return "; ".join([*changed[:MOST_PASSES], *more])

    def _outside(self, method: str) -> str:
        """The kernels outside that the lock lacks, between which delegates are."""
        new = [
            key
            for key in self.facts.values
            if key[:2] == ("outside", method) and self.facts.values[key] != self.lock.values.get(key)
        ]
        return "; ".join(filter(None, (self._with_lines(key) for key in new[:1])))

    def _arena(self, key: Key) -> str:
        """Where most of an arena's bytes are alive, and which tensors those are; of state, the buffers that are new."""
        if key[2] == str(BUFFERS):
            new = [each for each, value in self.facts.values.items() if self._is_new(each, value, "state")]
            named = ", ".join(f"{each[1]} ({self.facts.values[each]})" for each in new[:MOST_NAMED])
            return f"by {named}{_more(new)}" if new else ""
        plan = next((op for op in self.facts.places.get(key, ()) if isinstance(op, pte.ExecutionPlanOp)), None)
        arena = None if plan is None or key[2] != str(ARENA) else arena_of(plan)
        if arena is None:
            return ""
        line = "" if arena.at_peak is None else line_of(arena.at_peak)
        where = ", ".join(filter(None, [f"instruction {arena.instruction}", arena.calls, line]))
        alive = arena.alive
        shown = "; ".join(map(_alive_text, alive[:MOST_NAMED]))
        peak = f"most is alive at {where}: {shown}{_more(alive)}"
        return "; ".join(filter(None, [peak, self._passes()]))

    def _is_new(self, key: Key, value: str, kind: str) -> bool:
        """Whether a fact of some kind is another than the lock's."""
        return key[0] == kind and value != self.lock.values.get(key)

    def _added(self) -> str:
        """Which pass has made weights larger, for forms of layers that the lock lacks."""
        if not any(
            self._is_new(key, value, "layer") and self._is_composed(key) for key, value in self.facts.values.items()
        ):
            return ""
        added: dict[str, int] = {}
        for remark in self.remarks:
            figure = dict(remark.figures).get("AddedBytes") if isinstance(remark, ComposedOp) else None
            if isinstance(remark, ComposedOp) and figure is not None:
                added[remark.category] = added.get(remark.category, 0) + int(figure)
        return "; ".join(f"{by} adds {nbytes:,} bytes of weights" for by, nbytes in added.items() if nbytes > 0)

    def _layers(self, method: str | None) -> str:
        """The layers that are others than those of the lock, those with most multiplications first; None stands for
        those of all methods."""
        changed = [
            key
            for key, value in self.facts.values.items()
            if key[0] == "layer" and method in (None, key[1]) and value != self.lock.values.get(key)
        ]
        changed.sort(key=lambda key: (-OperatorLayer.parse(self.facts.values[key]).multiply_adds, key))
        names = [f"{key_text(key[2:])} ({self.facts.values[key]})" for key in changed[:MOST_NAMED]]
        layers = f"by {', '.join(names)}{_more(changed)}" if names else ""
        return "; ".join(filter(None, [layers, self._passes()]))


def _alive_text(each: Alive) -> str:
    """A tensor that is alive: its bytes, its type, and what or where it is."""
    what = ", ".join(filter(None, [each.role, line_of(each.location)]))
    return f"{each.nbytes:,} bytes of {type_text(each.tensor.value)}{f' ({what})' if what else ''}"


def _more(found: Sequence[object]) -> str:
    """How many are not named."""
    rest = len(found) - MOST_NAMED
    return f" and {rest} more" if rest > 0 else ""


def _options(value: str) -> str:
    """The options of a pass, in words."""
    options = value.partition(", ")[2]
    return f"with {options}" if options else "without options"
