"""`--verify-numerics`: after each pass, whether the program still computes what it did before the pass.

The module is evaluated before the first pass and after each one that changed it. What a pass may change of the numbers
is a property of the pass (`XirPass.numerics`). Once there is a program of calls, it is emitted and run, by XNNPACK.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xir.evaluate.comparison import FLIPPED, MOST_MOVED, SAME, Difference, differences
from xir.evaluate.evaluator import NotEvaluatedError
from xir.evaluate.inputs import as_called, as_stored, draw_inputs
from xir.evaluate.miscompiles import MiscompileError, changed_function
from xir.evaluate.program_check import ProgramCheck
from xir.evaluate.roundings import Moved, Roundings
from xir.evaluate.trace import Trace, name_of, traced
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import functions_of, is_method
from xir.ir.numerics import Numerics
from xir.ir.passes import PassManager, XirPass

Structure = list[tuple[object, ...]]


@dataclass
class NumericsChecker:
    """Checks each pass of the pass managers that it is attached to, one behind the other.

    `inputs` are those of the function, or of each one by its name; without, they are drawn. `rtol` lets every pass move
    the outputs that far, relative to the largest magnitude of each.
    """

    inputs: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None
    rtol: float = 0.0
    errors: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """Of each pass that changed the module so far: its name and the error, 0 where no bit changed."""

    _inputs: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    _given: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """The inputs as a caller of the file gives them."""
    _structure: Structure = field(default_factory=list[tuple[object, ...]])
    _original: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    _last: dict[str, Trace] = field(default_factory=dict[str, Trace])
    """What each function computes at this point of the pipeline."""
    _roundings: Roundings | None = None
    """Those of the module at first."""
    _program_check: ProgramCheck | None = None
    _ran: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """What the last program computed, once there is one."""
    _moved: dict[str, Moved] = field(default_factory=dict[str, Moved])
    """How far the passes so far may have moved the outputs by roundings."""
    _allowed: float = 0.0
    _gave_up: bool = False

    def attach(self, manager: PassManager) -> None:
        """Check the passes of a manager. Its `run` raises MiscompileError at the first that changes the program."""
        at_first: list[NumericsChecker] = []

        def before(each: XirPass, module: ModuleOp) -> None:
            self._before(manager.ctx, each, module)
            if not at_first:
                at_first.append(self._copy())

        def restarted() -> None:
            # Nothing that the passes did so far is in the module any more.
            if at_first:
                self.__dict__.update(at_first[0]._copy().__dict__)

        manager.before_pass.append(before)
        manager.restarted.append(restarted)
        manager.after_verified.append(lambda each, module: self._after(manager.ctx, each, module))

    def again(self) -> NumericsChecker:
        """A checker of other passes on the module that the last right pass left, which need not be evaluated again."""
        outputs = {name: last.outputs for name, last in self._last.items()}
        return NumericsChecker(
            self.inputs,
            self.rtol,
            _inputs=dict(self._inputs),
            _given=dict(self._given),
            _structure=self._structure,
            _original=outputs,
            _last=dict(self._last),
            _roundings=self._roundings,
            _program_check=self._program_check,
        )

    def _copy(self) -> NumericsChecker:
        """One that knows the same."""
        moved = {name: each.copy() for name, each in self._moved.items()}
        return replace(self, errors=list(self.errors), _last=dict(self._last), _ran=dict(self._ran), _moved=moved)

    # What is to be compared.

    def _before(self, ctx: XirContext, each: XirPass, module: ModuleOp) -> None:
        functions = functions_of(module)
        if self._gave_up or not functions:
            return
        if not self._last:
            self._start(ctx, functions)
            self._structure = structure(module)
            if not self._gave_up:
                self._roundings = Roundings(module, ctx, self._inputs, self._original)
        if each.numerics is Numerics.KERNELS and not self._gave_up:
            self._program_check = ProgramCheck(module.clone(), self._inputs, self._given)

    def _start(self, ctx: XirContext, functions: Sequence[FuncOp]) -> None:
        for function in functions:
            name = function.sym_name.data
            if len(function.body.blocks) != 1:
                self._give_up(ctx, NotEvaluatedError(function, "a function of several blocks is not evaluated"))
                return
            try:
                self._inputs[name], self._last[name] = self._first(ctx, function)
            except NotEvaluatedError as error:
                self._give_up(ctx, error)
                return
            self._given[name] = as_called(function, self._inputs[name])
            self._original[name] = self._last[name].outputs

    def _first(self, ctx: XirContext, function: FuncOp) -> tuple[list[Any], Trace]:
        """Inputs that the function runs on, and what it computes of them."""
        inputs = self.inputs if is_method(function) else None
        given = inputs[function.sym_name.data] if isinstance(inputs, Mapping) else inputs
        if given is not None:
            inputs = as_stored(function, given)
            return inputs, traced(function, ctx, inputs, rounds=False)
        try:
            inputs = draw_inputs(function)
            return inputs, traced(function, ctx, inputs, rounds=False)
        except NotEvaluatedError:
            raise
        except (DiagnosticError, IndexError):
            # Integers may be indices, of which 0 is within whatever there is.
            inputs = draw_inputs(function, few=1)
            return inputs, traced(function, ctx, inputs, rounds=False)

    def _give_up(self, ctx: XirContext, error: DiagnosticError) -> None:
        self._gave_up = True
        found = error.diagnostic
        ctx.diagnostics.warning(found.location, f"numbers are not verified from here on: {found.message}")

    # The comparison.

    def _after(self, ctx: XirContext, each: XirPass, module: ModuleOp) -> None:
        if self._gave_up or not self._last:
            return
        functions = functions_of(module)
        if not functions:
            assert self._program_check is not None
            self._ran, largest = self._program_check.run(ctx, each, module, self._ran, self.rtol)
            self.errors.append((each.name, largest))
            return
        changed = structure(module)
        if changed == self._structure:
            return
        allowed = max(self.rtol, SAME)
        self._allowed += allowed
        largest = 0.0
        now_known: dict[str, Trace] = {}
        for function in functions:
            name = function.sym_name.data
            if name not in self._last:
                continue
            try:
                now_known[name] = traced(function, ctx, self._inputs[name], rounds=False)
            except NotEvaluatedError as error:
                self._give_up(ctx, error)
                return
            except DiagnosticError as error:
                message = f"{each.name} makes a module that does not run: {error.diagnostic.message}"
                raise MiscompileError(each, error.diagnostic.location, message, (), 1.0) from error
            largest = max(largest, self._compare(ctx, each, function, now_known[name], allowed))
        self._structure = changed
        self._last.update(now_known)
        self.errors.append((each.name, largest))

    def _compare(self, ctx: XirContext, each: XirPass, function: FuncOp, trace: Trace, allowed: float) -> float:
        """How far a function is off from before a pass. MiscompileError if that, or from at first, is too far."""
        assert self._roundings is not None
        name = function.sym_name.data
        last = self._last[name]
        now = differences(last.outputs, trace.outputs)
        first = differences(self._original[name], trace.outputs)
        moved = self._moved.setdefault(name, defaultdict(float))
        if excess(now, allowed, {}, each) or excess(first, self._allowed, moved, each):
            more = self._roundings.moved_by(each, ctx, function, trace.outputs)
            if self._roundings.are_alike(ctx, function, allowed, more):
                for found in first:  # which later passes did not do either
                    moved[found.output] = max(moved[found.output], found.error)
                now = first = []
            self._warn_of_roundings(ctx, each, function, [*now, *first], more)
            for output, by in more.items():
                moved[output] += by
            for found, limit, by, what in (
                (now, allowed, more, "before it"),
                (first, self._allowed, moved, "at first"),
            ):
                if wrong := excess(found, limit, by, each):
                    limit += by.get(wrong.output, 0.0)
                    raise changed_function(each, function, wrong, limit, what, last.prints, trace)
        return max([0.0, *(found.error for found in now)])

    def _warn_of_roundings(
        self, ctx: XirContext, each: XirPass, function: FuncOp, found: Sequence[Difference], more: Moved
    ) -> None:
        hidden = {one.output for one in found if more.get(one.output, 0.0) > MOST_MOVED}
        for output in sorted(hidden):
            text = f"{each.name}: constants that are rounded anew may move {name_of(function, output)} of"
            text += f" '{function.sym_name.data}' by {more[output]:.1e} of its magnitude: smaller mistakes are not seen"
            ctx.diagnostics.warning(function, text)


def excess(found: Sequence[Difference], allowed: float, moved: Moved, each: XirPass) -> Difference | None:
    """The largest difference of those that are more than is allowed for their output."""
    beyond = [one for one in found if one.error > limit_of(one, allowed + moved.get(one.output, 0.0), each)]
    return max(beyond, key=lambda one: one.error, default=None)


def limit_of(found: Difference, allowed: float, each: XirPass) -> float:
    """What is allowed of such a difference."""
    return max(allowed, FLIPPED) if found.counted and each.numerics is not Numerics.SAME else allowed


def structure(module: ModuleOp) -> Structure:
    """What a module is but for locations, names, and attributes that mean nothing: equal if nothing has changed."""
    numbers: dict[SSAValue, int] = {}
    rows: Structure = []
    for op in module.walk():
        operands = tuple(numbers.setdefault(value, len(numbers)) for value in op.operands)
        results = tuple(numbers.setdefault(value, len(numbers)) for value in op.results)
        rows.append((op.name, op.parent_op() is None, operands, results, op.result_types, dict(op.properties)))
    return rows
