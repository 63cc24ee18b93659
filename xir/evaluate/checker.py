"""`--verify-numerics`: after each pass, whether the program still computes what it did before the pass.

The module is evaluated before the first pass and after each one that changed it. What a pass may change of the numbers
is a property of the pass (`XirPass.numerics`). Once there is a program of calls, it is emitted and run, by XNNPACK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue

from xir.evaluate.comparison import (
    AMPLIFIED,
    FLIPPED,
    MOST_MOVED,
    QUANTISED_KERNELS,
    REPEATED,
    Difference,
    largest_difference,
    rounding_of,
    tolerance,
)
from xir.evaluate.evaluator import Evaluator, NotEvaluatedError
from xir.evaluate.inputs import draw_inputs
from xir.evaluate.kernels import NodeByNode, node_by_node, overwriting, plans_of, run_program
from xir.evaluate.trace import Print, Trace, called, first_difference, name_of, traced, updates_of
from xir.ir.annotations import DIM_ORDER
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, DiagnosticError, note, op_name
from xir.ir.functions import is_method, methods_of
from xir.ir.numerics import Numerics
from xir.ir.passes import PassManager, XirPass

Structure = list[tuple[object, ...]]


@dataclass
class _State:
    """What a function computes at one point of the pipeline."""

    outputs: list[Any]
    prints: Mapping[SSAValue, Print]


@dataclass
class _Exact:
    """What the kernels of a function have to compute."""

    outputs: list[Any]
    names: list[str]
    """What each of them is called."""
    written: list[str]
    """The buffers that the function writes to; the outputs have them behind each call's."""


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
    _exact: dict[str, _Exact] = field(default_factory=dict[str, _Exact])
    """What the kernels have to compute: quantised values rounded."""
    _computing: ModuleOp | None = None
    """The module of functions that the kernels compute."""
    _ran: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    """What the last program computed, once there is one."""
    _allowed: float = 0.0
    _tolerances: dict[Numerics, float] = field(default_factory=dict[Numerics, float])
    _gave_up: bool = False

    def attach(self, manager: PassManager) -> None:
        """Check the passes of a manager. Its `run` raises MiscompileError at the first that changes the program."""
        manager.before_pass.append(lambda each, module: self._before(manager.ctx, each, module))
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
            _exact=dict(self._exact),
            _computing=self._computing,
            _tolerances=dict(self._tolerances),
        )

    # What is to be compared.

    def _before(self, ctx: XirContext, each: XirPass, module: ModuleOp) -> None:
        functions = functions_of(module)
        if self._gave_up or not functions:
            return
        self._tolerances = {numerics: max(self.rtol, tolerance(numerics, module)) for numerics in Numerics}
        if not self._last:
            self._start(ctx, functions)
            self._structure = structure(module)
        if each.numerics is Numerics.KERNELS and not self._gave_up:
            self._computing = module.clone()
            for function in methods_of(module):
                name = function.sym_name.data
                outputs = called(function, Evaluator(ctx), self._inputs[name])
                written = [op.declared.buffer.data for op in updates_of(function)]
                names = [name_of(function, index) for index in range(len(outputs))]
                self._exact[name] = _Exact(outputs, names, written)

    def _start(self, ctx: XirContext, functions: Sequence[FuncOp]) -> None:
        for function in functions:
            name = function.sym_name.data
            try:
                self._inputs[name], state = self._first(ctx, function)
            except NotEvaluatedError as error:
                self._give_up(ctx, error)
                return
            self._given[name] = as_called(function, self._inputs[name])
            self._last[name] = state
            self._original[name] = state.outputs

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
        allowed = self._tolerances[each.numerics]
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
            now = largest_difference(last.outputs, trace.outputs)
            first = largest_difference(self._original[name], trace.outputs)
            if exceeds(now, allowed, each) or exceeds(first, self._allowed, each):
                more = self._moved_by_roundings(ctx, each, function, trace)
                self._allowed += more
                for found, limit, what in ((now, allowed + more, "before it"), (first, self._allowed, "at first")):
                    if found is not None and exceeds(found, limit, each):
                        raise self._error(each, function, found, limit, what, last.prints, trace)
            largest = max(largest, 0.0 if now is None else now.error)
            now_known[name] = self._state(trace)
        self._structure = changed
        self._last.update(now_known)
        self.errors.append((each.name, largest))

    def _moved_by_roundings(self, ctx: XirContext, each: XirPass, function: FuncOp, trace: Trace) -> float:
        """How far the outputs are moved by roundings of all constants, of which a pass may have made some."""
        if each.numerics is Numerics.SAME:
            return 0.0
        module = function.parent_op()
        assert isinstance(module, ModuleOp)
        moved = Evaluator(ctx, rounds=False, jitter=rounding_of(module))
        found = largest_difference(trace.outputs, called(function, moved, self._inputs[function.sym_name.data]))
        return min(MOST_MOVED, AMPLIFIED * found.error) if found is not None and isfinite(found.error) else 0.0

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
        """Emit the program, run it, and compare with what the last module of functions computes."""
        from xir.runtime import XirRuntimeError

        for plan in plans_of(module):
            if (instruction := overwriting(plan)) is not None:
                message = f"{each.name} lays a tensor over another one that is still needed"
                raise MiscompileError(each, instruction, message, (), 1.0)
        allowed = self._tolerances[Numerics.KERNELS]
        try:
            written = {name: exact.written for name, exact in self._exact.items()}
            computed = run_program(module, ctx, {name: self._given[name] for name in written}, written)
        except Exception as error:
            # What the emitter raises may be anything, if the program is wrong enough.
            told_as = str(error) if isinstance(error, XirRuntimeError | DiagnosticError) else repr(error)
            message = f"{each.name} makes a program that does not run: {told_as}"
            nodes = None if self._ran else self._node_by_node(ctx, each)
            raise MiscompileError(each, (nodes and nodes.wrong) or module, message, (), 1) from error
        largest = 0.0
        for name, expected in self._exact.items():
            # A program that ran before, and was right, says more than what its kernels should compute.
            before = self._ran.get(name, expected.outputs)
            limit = max(self.rtol, REPEATED) if name in self._ran else allowed
            found = largest_difference(
                before, computed[name], mean=name not in self._ran and allowed >= QUANTISED_KERNELS
            )
            if found is not None and found.error > limit_of(found, limit, each):
                nodes = None if self._ran else self._node_by_node(ctx, each)
                if nodes is None or not self._adds_up(nodes, name, computed[name]):
                    op, what = (nodes and nodes.wrong) or module, expected.names[found.output]
                    where = f"{what} of '{name}' is {found.after:.9g}, it was {found.before:.9g} before it"
                    notes = [note(op, where), note(op, f"{limit:.1e} is allowed: {each.numerics.value}")]
                    if op is not module:
                        notes.insert(
                            0, note(op, f"first at '{op_name(op)}', which computes something else as it is run")
                        )
                    message = f"{each.name} changes what the program computes: {told(found, what)}"
                    raise MiscompileError(each, op, message, notes, found.error)
            largest = max(largest, 0.0 if found is None else found.error)
        self._ran = computed
        self.errors.append((each.name, largest))

    def _node_by_node(self, ctx: XirContext, each: XirPass) -> NodeByNode | None:
        """Each op of the last functions, compared with what it computes in the program."""
        if self._computing is None:
            return None
        return node_by_node(self._computing, ctx, each, (self._inputs, self._given))

    def _adds_up(self, nodes: NodeByNode, name: str, computed: Sequence[Any]) -> bool:
        """Whether a large difference is made of roundings: each op is right by itself, and together they compute what
        the program does."""
        if nodes.wrong is not None:
            return False
        count = len(nodes.outputs[name])
        found = largest_difference(nodes.outputs[name], computed[:count])
        return found is None or found.error <= (FLIPPED if found.counted else REPEATED)


def told(found: Difference, name: str) -> str:
    """A difference in words; `name` is the output's."""
    if found.counted:
        return f"{100 * found.error:.3g} % of {name} differ"
    return f"{name} is off by {found.error:.1e} of its largest magnitude"


def exceeds(found: Difference | None, allowed: float, each: XirPass) -> bool:
    """Whether a difference is more than is allowed."""
    return found is not None and found.error > limit_of(found, allowed, each)


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
