"""Proofs that a pass keeps what a function and its subgraphs compute.

The function before and after the pass is written as terms of one set of variables, and z3 looks for values at which an
output differs. A weight is a variable as well where the pass only moves weights: a constant that numbers its elements
1, 2, 3, … stands for the variables w1, w2, w3, …, wherever the pass puts them, and 0 for 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, product
from math import isfinite, prod
from typing import Any

import numpy as np
import pytest
import z3
from reference.planting import planted
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, ModuleOp, i1
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, OpResult, SSAValue

from proofs import edge_meaning
from proofs.extended import Extended, Term, is_equal, number
from proofs.meaning import results_of
from proofs.terms import Terms, variables
from xir.dialects import edge, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager, XirPass
from xir.ir.printer import module_to_text

SECONDS = 60
"""How long z3 may look for a difference."""


@dataclass(frozen=True)
class Proof:
    """What became of a function."""

    after: str
    changed: bool
    counterexample: str
    """Values of the variables at which an output differs; "" if there are none."""


class UnprovedError(Exception):
    """z3 found neither a difference nor that there is none."""


@dataclass(frozen=True)
class Reading:
    """How a function is read."""

    weights: bool = True
    """Whether constants stand for any numbers."""
    rounds: bool = True
    """Whether integers of quantised types are integers; without, they keep their fractions."""
    sizes: tuple[int, ...] = ()
    """What the open sizes of the inputs are, in their order."""
    positions: int = 2
    """Inputs of plain integers are positions from minus this on to below this."""
    counts_from_end: bool = True
    """Whether these may be negative, as ATen has it for some ops."""
    tries_each: bool = False
    """Whether each combination of integers and booleans that the inputs may hold is read by itself. Then sizes may
    depend on them, and there are no cases for z3 to distinguish."""
    integers: tuple[int, ...] | None = None
    """What the elements of integer and boolean inputs are, in their order; None leaves them open."""

    @property
    def first_position(self) -> int:
        return -self.positions if self.counts_from_end else 0

    def cases(self, function: FuncOp) -> Iterator[Reading]:
        """The same, or one for each combination."""
        if not self.tries_each:
            yield self
            return
        open_sizes, values = iter(self.sizes), list[range]()
        for argument in function.body.block.args:
            shape = [next(open_sizes) if size == DYNAMIC_INDEX else size for size in shape_of(argument)]
            element = element_type(argument)
            if isinstance(element, IntegerType):
                low, behind = (0, 2) if element == i1 else (self.first_position, self.positions)
                values += [range(low, behind)] * prod(shape)
        for integers in product(*values):
            yield replace(self, integers=integers)


EXACT = Reading()
"""For any weights, with all roundings to integers."""
NUMBERS = Reading(weights=False)
"""For the weights that are written."""
EACH = Reading(weights=False, tries_each=True)
"""For each combination of integers and booleans."""


def prove(text: str, compiler_pass: XirPass, *, reading: Reading = EXACT) -> Proof:
    """Whether the function `forward` of a module computes the same after a pass. UnprovedError after SECONDS."""
    ctx = XirContext()
    module = parse_module(ctx, text)
    original = module.clone()
    PassManager(ctx, [compiler_pass]).run(module)
    before, after = (module_to_text(each, ctx) for each in (original, module))
    if after == before:
        return Proof(after, False, "")
    for case in reading.cases(forward_of(original)):
        expected, bounds = outputs_of(original, ctx, case)
        again, _ = outputs_of(module, ctx, case)
        if found := difference(expected, again, bounds):
            return Proof(after, True, f"{found}, integers {case.integers}" if case.integers else found)
    return Proof(after, True, "")


def forward_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.body.ops if isinstance(op, FuncOp))


def outputs_of(module: ModuleOp, ctx: XirContext, reading: Reading) -> tuple[list[Terms], list[Term]]:
    """The outputs of `forward` as terms, and the bounds of its inputs."""
    block = forward_of(module).body.block
    values, bounds, sizes = dict[SSAValue, Any](), list[Term](), iter(reading.sizes)
    integers = None if reading.integers is None else iter(reading.integers)
    for position, value in enumerate(block.args):
        shape = [next(sizes) if size == DYNAMIC_INDEX else size for size in shape_of(value)]
        element = stored_element(value)
        places = range(reading.first_position, reading.positions)
        values[value], limits = variables(f"x{position}", shape, element, places)
        if integers is not None and isinstance(element, IntegerType):
            as_term = z3.BoolVal if element == i1 else z3.IntVal
            terms = [as_term(next(integers)) for _ in range(prod(shape))]
            values[value] = np.array(terms, object).reshape(shape)
        bounds += limits
    return run(block, values, ctx, reading), bounds


def stored_element(value: SSAValue) -> Attribute:
    """The quantised type in which a subgraph takes an argument of the function, else the argument's own."""
    for use in value.uses:
        if isinstance(use.operation, xnnpack.SubgraphOp):
            return element_type(use.operation.body.block.args[use.index])
    return element_type(value)


def run(block: Block, values: dict[SSAValue, Any], ctx: XirContext, reading: Reading) -> list[Terms]:
    """What a block ends with, and what it leaves in buffers."""
    updates = dict[str, Terms]()
    for op in block.ops:
        match op:
            case ReturnOp() | xnnpack.YieldOp():
                return [*(values[value] for value in op.operands), *(updates[name] for name in sorted(updates))]
            case edge.UpdateBufferOp(buffer=OpResult(owner=edge.MutableBufferOp(buffer=name))):
                updates[name.data] = values[op.value]
                results = []
            case edge.MutableBufferOp():
                results = [variables(op.buffer.data, shape_of(op.result), element_type(op.result))[0]]
            case xnnpack.SubgraphOp():
                inner = dict[SSAValue, Terms](
                    zip(op.body.block.args, [values[each] for each in op.operands], strict=True)
                )
                results = run(op.body.block, inner, ctx, reading)
            case xnnpack.ConstantOp() | edge.ConstantOp():
                results = [constant(op, ctx, reading)]
            case edge.EdgeOp():
                results = edge_meaning.results_of(op, values)
            case xnnpack.NodeOp():
                results = results_of(op, values, reading.rounds)
            case _:
                raise NotImplementedError(op.name)
        for value, result in zip(op.results, results, strict=True):
            assert not isinstance(result, np.ndarray) or has_shape(result, value), f"{op}: {result.shape}"
            values[value] = result
    raise AssertionError("a block ends with a terminator")


def has_shape(result: Terms, value: SSAValue) -> bool:
    """Whether terms have the shape of a value, of which sizes may be open."""
    sizes = list(shape_of(value))
    return len(sizes) == result.ndim and all(a in (b, DYNAMIC_INDEX) for a, b in zip(sizes, result.shape, strict=True))


def constant(op: xnnpack.ConstantOp | edge.ConstantOp, ctx: XirContext, reading: Reading) -> Terms:
    """A constant's elements, or the variables that they number."""
    array = constant_array(op.value, ctx, op)
    element_of = element_type(op.results[0])
    is_integer = isinstance(element_of, UniformType | IntegerType)

    def element(value: float) -> Term:
        if element_of == i1:
            return z3.BoolVal(bool(value))
        if reading.weights and isfinite(value) and value != 0 and not isinstance(element_of, IntegerType):
            return z3.Int(f"w{int(value)}") if is_integer else z3.Real(f"w{value:g}")
        return z3.IntVal(int(value)) if is_integer else number(float(value))

    return np.asarray(np.frompyfunc(element, 1, 1)(np.asarray(array, object)), object).reshape(array.shape)


def difference(before: Sequence[Terms], after: Sequence[Terms], bounds: Sequence[Term]) -> str:
    """Values of variables at which outputs differ; "" if there are none."""
    if [each.shape for each in before] != [each.shape for each in after]:
        return "any values: an output has another shape"
    pairs = [(a, b) for old, new in zip(before, after, strict=True) for a, b in zip(old.flat, new.flat, strict=True)]
    of_one, of_many = list[Term](), list[Term]()
    for a, b in pairs:
        if not is_same_term(a, b):
            claim = z3.Not(is_equal(a, b))
            (of_one if is_of_one_integer(claim) else of_many).append(claim)
    return among_integers(of_one, bounds) or solution(of_many, bounds)


def is_same_term(a: Term, b: Term) -> bool:
    """Whether two results are written in one way: so are sums of the same products, often."""
    if isinstance(a, Extended) or isinstance(b, Extended):
        return z3.is_true(z3.simplify(is_equal(a, b)))
    return a.eq(b) or z3.simplify(a, som=True).eq(z3.simplify(b, som=True))


def is_of_one_integer(claim: Term) -> bool:
    """Whether a claim is about one integer, all of whose values can be tried."""
    variables = list(islice(variables_of(claim), 2))
    return len(variables) == 1 and z3.is_int(variables[0])


def variables_of(claim: Term) -> Iterator[Term]:
    """The variables in a term, each once; terms share parts, so each part is looked at once."""
    seen, waiting = set[int](), [claim]
    while waiting:
        term = waiting.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        waiting += term.children()
        if z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            yield term


ANY = z3.Int("any")


def among_integers(claims: Sequence[Term], bounds: Sequence[Term]) -> str:
    """A value of a claim's one integer that makes it true; "" if there is none. z3 gets lost in nested roundings."""
    tried = set[tuple[Term, int, int]]()
    for claim in claims:
        (variable,) = variables_of(claim)
        low, high = (each.arg(1).as_long() for each in bounds if each.arg(0).eq(variable))
        of_any = z3.substitute(claim, (variable, ANY))
        if (of_any, low, high) in tried:
            continue
        tried.add((of_any, low, high))
        for value in range(low, high + 1):
            if z3.is_true(z3.simplify(z3.substitute(of_any, (ANY, z3.IntVal(value))))):
                return f"{variable} = {value}"
    return ""


def solution(claims: Sequence[Term], bounds: Sequence[Term]) -> str:
    """Values that make one of the claims true; "" if there are none."""
    if not claims:
        return ""
    reals = [each for each in variables_of(z3.Or(*claims)) if z3.is_real(each)]
    if reals and not bounds and is_so_for([each == number for number, each in enumerate(reals, 1)], claims[0]):
        return ", ".join(f"{each} = {number}" for number, each in enumerate(reals, 1))
    solver = z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    solver.add(*bounds, z3.Or(*claims))
    found = solver.check()
    if found == z3.unknown:
        raise UnprovedError(solver.reason_unknown())
    return str(solver.model()) if found == z3.sat else ""


def is_so_for(values: Sequence[Term], claim: Term) -> bool:
    """Whether a claim is true for given values of its variables: z3 finds none by itself where exponentials of
    products are divided."""
    solver = z3.Solver()
    solver.set("timeout", 2000)
    solver.add(*values, claim)
    return solver.check() == z3.sat


def prove_all(texts: Iterable[str], compiler_pass: XirPass, *, at_least: int, reading: Reading = EXACT) -> None:
    """Hold a pass to many functions, of which at least so many are to be rewritten."""
    count = 0
    for text in texts:
        proof = prove(text, compiler_pass, reading=reading)
        assert not proof.counterexample, f"{text}\nbecomes\n{proof.after}\nwhich differs at {proof.counterexample}"
        count += proof.changed
    assert count >= at_least, count


Texts = Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Fault:
    """One mistake in a source, which the functions that a pass is held to have to disprove."""

    name: str
    before: str
    after: str
    module: str
    """Below `xir`; "" for that of the pass."""


FAULTS = defaultdict[Texts, list[Fault]](list)
FAULTY_PASSES = set[str]()
"""The names of passes that faults are planted in."""


def disproves(name: str, before: str, after: str, module: str = "") -> Callable[[Texts], Texts]:
    """Below `proves`: what a pass with `after` in place of `before` in its source does, some function disproves."""

    def with_fault(texts: Texts) -> Texts:
        FAULTS[texts].append(Fault(name, before, after, module))
        return texts

    return with_fault


def proves(
    *passes: XirPass, at_least: int, readings: Sequence[Reading] = (EXACT,), every: int = 1
) -> Callable[[Texts], Callable[[Fault | int], None]]:
    """Make a test of a generator of functions: each pass is held to them in each reading, and its faults are found.

    Of many functions whose parameters have few values each, `make test` takes one of `every`.
    """

    def test_of(texts: Texts) -> Callable[[Fault | int], None]:
        cases = [pytest.param(each, id=each.name) for each in FAULTS[texts]]
        FAULTY_PASSES.update(each.name for each in passes if cases)
        if every > 1:
            cases.append(pytest.param(1, id="all", marks=pytest.mark.exhaustive))

        @pytest.mark.parametrize("case", [pytest.param(every, id="proved"), *cases])
        def test(case: Fault | int) -> None:
            if isinstance(case, Fault):
                module = case.module or type(passes[0]).__module__.removeprefix("xir.")
                with planted(module, case.before, case.after):
                    assert any(is_disproved(text, passes[0], readings[0]) for text in texts())
                return
            for each, reading in product(passes, readings):
                prove_all(islice(texts(), 0, None, case), each, at_least=at_least // case, reading=reading)

        return test

    return test_of


def is_disproved(text: str, compiler_pass: XirPass, reading: Reading) -> bool:
    """Whether there are values for which a graph computes something else; what the verifier refuses shows nothing."""
    with suppress(DiagnosticError):
        return prove(text, compiler_pass, reading=reading).counterexample != ""
    return False
