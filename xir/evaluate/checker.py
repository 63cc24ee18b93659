"""`--verify-numerics`: after each pass, whether the program still computes what it did before the pass.

The module is evaluated before the first pass and after each one that changed it. What a pass may change of the numbers
is a property of the pass (`XirPass.numerics`). Once there is a program of calls, it is emitted and run, by XNNPACK.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from xir.evaluate.comparison import (
    AMPLIFIED,
    FLIPPED,
    FUSED,
    MOST_MOVED,
    REPEATED,
    SAME,
    SAMPLES,
    Difference,
    differences,
    is_quantised,
    largest_difference,
    rounding_of,
)
from xir.evaluate.evaluator import Evaluator, Noise, NotEvaluatedError
from xir.evaluate.execution import plans_of, run_program
from xir.evaluate.inputs import draw_inputs
from xir.evaluate.kernels import NodeByNode, WrongKernel, node_by_node, overwriting
from xir.evaluate.quantised import QUANTISES
from xir.evaluate.trace import Print, Trace, called, first_difference, name_of, traced, updates_of
from xir.ir.annotations import DIM_ORDER
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, DiagnosticError, note, op_name
from xir.ir.functions import is_method, methods_of
from xir.ir.numerics import Numerics
from xir.ir.passes import PassManager, XirPass

Structure = list[tuple[object, ...]]

Moved = dict[int, float]
"""How far outputs are moved, by their numbers, relative to their magnitudes."""


@dataclass
class _State:
    """What a function computes at one point of the pipeline."""

    outputs: list[Any]
    prints: Mapping[SSAValue, Print]


@dataclass(frozen=True)
class _Source:
    """The module at first. Its weights are kept, which passes drop from the context once nothing reads them."""

    module: ModuleOp
    ctx: XirContext

    @classmethod
    def of(cls, module: ModuleOp, ctx: XirContext) -> _Source:
        """A copy of a module; its weights are shared."""
        return cls(module.clone(), ctx.clone())

    def function(self, name: str) -> FuncOp:
        """The function of that name, which has a body."""
        return next(op for op in functions_of(self.module) if op.sym_name.data == name)

    def quantises(self) -> bool:
        """Whether it rounds to integers by ops of its own."""
        return any(op.name in QUANTISES for op in self.module.walk())


class MiscompileError(DiagnosticError):
    """A pass changed what the program computes."""

    def __init__(self, each: XirPass, where: Any, message: str, notes: Sequence[Diagnostic], error: float):
        super().__init__(where, message, notes)
        self.culprit = each
        self.error = error


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
    _last: dict[str, _State] = field(default_factory=dict[str, _State])
    _source: _Source | None = None
    _exact: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """What the source computes."""
    _noise: dict[str, Moved] = field(default_factory=dict[str, Moved])
    """How far roundings move what each function computes, where that was asked."""
    _computing: ModuleOp | None = None
    """The module of functions that the kernels compute."""
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
        outputs = {name: state.outputs for name, state in self._last.items()}
        return NumericsChecker(
            self.inputs,
            self.rtol,
            _inputs=dict(self._inputs),
            _given=dict(self._given),
            _structure=self._structure,
            _original=outputs,
            _last=dict(self._last),
            _source=self._source,
            _exact=dict(self._exact),
            _noise=dict(self._noise),
            _computing=self._computing,
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
            self._source = _Source.of(module, ctx)
        if each.numerics is Numerics.KERNELS and not self._gave_up:
            self._computing = module.clone()

    def _start(self, ctx: XirContext, functions: Sequence[FuncOp]) -> None:
        for function in functions:
            name = function.sym_name.data
            if len(function.body.blocks) != 1:
                self._give_up(ctx, NotEvaluatedError(function, "a function of several blocks is not evaluated"))
                return
            try:
                self._inputs[name], state = self._first(ctx, function)
            except NotEvaluatedError as error:
                self._give_up(ctx, error)
                return
            self._given[name] = as_called(function, self._inputs[name])
            self._last[name] = state
            self._original[name] = self._exact[name] = state.outputs

    def _first(self, ctx: XirContext, function: FuncOp) -> tuple[list[Any], _State]:
        """Inputs that the function runs on, and what it computes of them."""
        inputs = self.inputs if is_method(function) else None
        given = inputs[function.sym_name.data] if isinstance(inputs, Mapping) else inputs
        if given is not None:
            inputs = as_stored(function, given)
            return inputs, self._state(traced(function, ctx, inputs, rounds=False))
        try:
            inputs = draw_inputs(function)
            return inputs, self._state(traced(function, ctx, inputs, rounds=False))
        except NotEvaluatedError:
            raise
        except (DiagnosticError, IndexError):
            # Integers may be indices, of which 0 is within whatever there is.
            inputs = draw_inputs(function, few=1)
            return inputs, self._state(traced(function, ctx, inputs, rounds=False))

    def _state(self, trace: Trace) -> _State:
        return _State(trace.outputs, trace.prints)

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
            self._run(ctx, each, module)
            return
        changed = structure(module)
        if changed == self._structure:
            return
        allowed = max(self.rtol, SAME)
        self._allowed += allowed
        largest = 0.0
        now_known: dict[str, _State] = {}
        for function in functions:
            name = function.sym_name.data
            if name not in self._last:
                continue
            try:
                trace = traced(function, ctx, self._inputs[name], rounds=False)
            except NotEvaluatedError as error:
                self._give_up(ctx, error)
                return
            except DiagnosticError as error:
                message = f"{each.name} makes a module that does not run: {error.diagnostic.message}"
                raise MiscompileError(each, error.diagnostic.location, message, (), 1.0) from error
            last = self._last[name]
            now = differences(last.outputs, trace.outputs)
            first = differences(self._original[name], trace.outputs)
            moved = self._moved.setdefault(name, defaultdict(float))
            if excess(now, allowed, {}, each) or excess(first, self._allowed, moved, each):
                more = self._moved_by_roundings(ctx, each, function, trace.outputs)
                if self._is_rounded_alike(ctx, function, allowed, more):
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
                        raise self._error(each, function, wrong, limit, what, last.prints, trace)
            largest = max([largest, *(found.error for found in now)])
            now_known[name] = self._state(trace)
        self._structure = changed
        self._last.update(now_known)
        self.errors.append((each.name, largest))

    def _moved_by_roundings(self, ctx: XirContext, each: XirPass, function: FuncOp, outputs: Sequence[Any]) -> Moved:
        """How far a pass may move each output by numbers that it rounds: further than roundings at random do."""
        if each.numerics is Numerics.SAME:
            return {}
        name = function.sym_name.data
        if name not in self._noise:
            assert self._source is not None
            noise = Noise(relative=rounding_of(self._source.module))
            self._noise[name] = self._furthest(self._source.ctx, self._source.function(name), self._exact[name], noise)
        found = dict(self._noise[name])
        if each.numerics is Numerics.REQUANTISED:
            for output, error in self._furthest(ctx, function, outputs, Noise(quantises=True)).items():
                found[output] = found.get(output, 0.0) + error
        return {output: AMPLIFIED * error for output, error in found.items()}

    def _warn_of_roundings(
        self, ctx: XirContext, each: XirPass, function: FuncOp, found: Sequence[Difference], more: Moved
    ) -> None:
        hidden = {one.output for one in found if more.get(one.output, 0.0) > MOST_MOVED}
        for output in sorted(hidden):
            text = f"{each.name}: constants that are rounded anew may move {name_of(function, output)} of"
            text += f" '{function.sym_name.data}' by {more[output]:.1e} of its magnitude: smaller mistakes are not seen"
            ctx.diagnostics.warning(function, text)

    def _is_rounded_alike(self, ctx: XirContext, function: FuncOp, allowed: float, more: Moved) -> bool:
        """Whether a quantised program computes what it did at first where all roundings are made.

        One that rounds by ops of its own does so, also where the others are left out."""
        name = function.sym_name.data
        assert self._source is not None
        if not self._source.quantises():
            return False
        inputs = self._inputs[name]
        before = called(self._source.function(name), Evaluator(self._source.ctx), inputs)
        after = called(function, Evaluator(ctx), inputs)
        return all(found.error <= allowed + more.get(found.output, 0.0) for found in differences(before, after))

    def _furthest(self, ctx: XirContext, function: FuncOp, exact: Sequence[Any], noise: Noise) -> Moved:
        """How far each output of a function is moved by noise, at most."""
        evaluator = Evaluator(ctx, rounds=False, noise=noise)
        moved: Moved = defaultdict(float)
        for sample in range(SAMPLES):
            noise.generator.manual_seed(sample)
            for found in differences(exact, called(function, evaluator, self._inputs[function.sym_name.data])):
                if isfinite(found.error):
                    moved[found.output] = max(moved[found.output], found.error)
        return moved

    def _error(
        self,
        each: XirPass,
        function: FuncOp,
        found: Difference,
        limit: float,
        what: str,
        before: Mapping[SSAValue, Print],
        trace: Trace,
    ) -> MiscompileError:
        op = first_difference(function, before, trace, found.output, max(limit, 1e-12))
        place, name = f" at {list(found.index)}" if found.index else "", name_of(function, found.output)
        notes = [
            note(op, f"first at '{op_name(op)}', whose result is no value of the module before the pass"),
            note(
                function,
                f"{name} of '{function.sym_name.data}' is {found.after:.9g}{place}, it was {found.before:.9g} {what}",
            ),
            note(function, f"{limit:.1e} is allowed: {each.numerics.value}"),
        ]
        return MiscompileError(
            each, op, f"{each.name} changes what the program computes: {told(found, name)}", notes, found.error
        )

    # The program of calls.

    def _run(self, ctx: XirContext, each: XirPass, module: ModuleOp) -> None:
        """Emit the program, run it, and compare with what its ops mean, or with the program that ran before."""
        for plan in plans_of(module):
            if (instruction := overwriting(plan)) is not None:
                message = f"{each.name} lays a tensor over another one that is still needed"
                raise MiscompileError(each, instruction, message, (), 1.0)
        assert self._computing is not None
        functions = {function.sym_name.data: function for function in methods_of(self._computing)}
        written = {
            name: [op.declared.buffer.data for op in updates_of(function)] for name, function in functions.items()
        }
        try:
            computed = run_program(module, ctx, {name: self._given[name] for name in written}, written)
        except Exception as error:
            raise self._does_not_run(ctx, each, module, error) from error
        nodes = None if self._ran else self._node_by_node(ctx, each, module)
        if nodes is not None and nodes.wrong is not None:
            raise self._wrong_kernel(each, nodes.wrong)
        before = self._ran if nodes is None else nodes.outputs
        largest = 0.0 if nodes is None else nodes.error
        for name, outputs in before.items():
            found = largest_difference(outputs, computed[name])
            if found is not None and found.error > (FLIPPED if found.counted else max(self.rtol, REPEATED)):
                mean = largest_difference(outputs, computed[name], mean=True)
                if self._ran or not is_quantised(self._computing) or mean is None or mean.error > FUSED:
                    raise self._differs(each, module, functions[name], found)
            largest = max(largest, 0.0 if found is None else found.error)
        self._ran = computed
        self.errors.append((each.name, largest))

    def _node_by_node(self, ctx: XirContext, each: XirPass, module: ModuleOp) -> NodeByNode:
        """Each op of the last functions, compared with what it computes in the program."""
        assert self._computing is not None
        try:
            return node_by_node(self._computing, ctx, each, (self._inputs, self._given))
        except Exception as error:
            raise self._does_not_run(ctx, each, module, error) from error

    def _does_not_run(self, ctx: XirContext, each: XirPass, module: ModuleOp, error: Exception) -> MiscompileError:
        # What the emitter raises may be anything, if the program is wrong enough.
        from xir.runtime import XirRuntimeError

        told_as = str(error) if isinstance(error, XirRuntimeError | DiagnosticError) else repr(error)
        return MiscompileError(each, module, f"{each.name} makes a program that does not run: {told_as}", (), 1)

    def _wrong_kernel(self, each: XirPass, wrong: WrongKernel) -> MiscompileError:
        found, op = wrong.found, wrong.op
        place = f" at {list(found.index)}" if found.index else ""
        notes = [
            note(op, f"first at '{op_name(op)}', which computes something else as it is run"),
            note(op, f"{wrong.name} is {found.after:.9g}{place}, its operands make {found.before:.9g} of it"),
            note(op, f"{wrong.allowed:.1e} is allowed there: {each.numerics.value}"),
        ]
        message = f"{each.name} changes what the program computes: {told(found, wrong.name)}"
        return MiscompileError(each, op, message, notes, found.error)

    def _differs(self, each: XirPass, module: ModuleOp, function: FuncOp, found: Difference) -> MiscompileError:
        name = name_of(function, found.output)
        where = f"{name} of '{function.sym_name.data}' is {found.after:.9g}, it was {found.before:.9g} before it"
        notes = [note(module, where), note(module, f"{REPEATED:.1e} is allowed: {each.numerics.value}")]
        message = f"{each.name} changes what the program computes: {told(found, name)}"
        return MiscompileError(each, module, message, notes, found.error)


def told(found: Difference, name: str) -> str:
    """A difference in words; `name` is the output's."""
    if found.counted:
        return f"{100 * found.error:.3g} % of {name} differ"
    return f"{name} is off by {found.error:.1e} of its largest magnitude"


def excess(found: Sequence[Difference], allowed: float, moved: Moved, each: XirPass) -> Difference | None:
    """The largest difference of those that are more than is allowed for their output."""
    beyond = [one for one in found if one.error > limit_of(one, allowed + moved.get(one.output, 0.0), each)]
    return max(beyond, key=lambda one: one.error, default=None)


def limit_of(found: Difference, allowed: float, each: XirPass) -> float:
    """What is allowed of such a difference."""
    return max(allowed, FLIPPED) if found.counted and each.numerics is not Numerics.SAME else allowed


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions with a body."""
    return [op for op in module.body.ops if isinstance(op, FuncOp) and not op.is_declaration]


def structure(module: ModuleOp) -> Structure:
    """What a module is but for locations, names, and attributes that mean nothing: equal if nothing has changed."""
    numbers: dict[SSAValue, int] = {}
    rows: Structure = []
    for op in module.walk():
        operands = tuple(numbers.setdefault(value, len(numbers)) for value in op.operands)
        results = tuple(numbers.setdefault(value, len(numbers)) for value in op.results)
        rows.append((op.name, op.parent_op() is None, operands, results, op.result_types, dict(op.properties)))
    return rows


def dim_order_of(function: FuncOp, index: int) -> tuple[int, ...] | None:
    """Which dimension of the caller's tensor each of an argument is, if they are not the same."""
    attributes: Mapping[str, Attribute] = {} if function.arg_attrs is None else function.arg_attrs.data[index].data
    order = attributes.get(DIM_ORDER)
    if not isinstance(order, DenseArrayBase):
        return None
    return tuple(int(i) for i in order.get_values()) if isinstance(order.elt_type, IntegerType) else None


def as_called(function: FuncOp, inputs: Sequence[Any]) -> list[Any]:
    """The inputs as a caller has them."""
    orders = [dim_order_of(function, index) for index in range(len(inputs))]
    return [
        value if order is None else value.permute(np.argsort(order).tolist())
        for value, order in zip(inputs, orders, strict=True)
    ]


def as_stored(function: FuncOp, inputs: Sequence[Any]) -> list[Any]:
    """The inputs that a caller has, as the function's arguments."""
    orders = [dim_order_of(function, index) for index in range(len(inputs))]
    return [
        value if order is None else value.permute(order).contiguous()
        for value, order in zip(inputs, orders, strict=True)
    ]
