"""Verifying a module, with every failure a located diagnostic.

xDSL's own `verify()` prints the whole module into the exception, names no location and checks no dominance.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseIntOrFPElementsAttr, DenseResourceAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from xir.ir.annotations import problems
from xir.ir.attribute_numbers import AttributeNumbers
from xir.ir.diagnostics import DiagnosticError, note, op_name
from xir.ir.dominance import verify_dominance
from xir.ir.tensor_types import oversized
from xir.ir.traits import VerifiedByTypes
from xir.ir.walking import ops_in


def verify(root: Operation, known: VerifiedKinds | None = None) -> None:
    """Verify `root` and everything in it: structure, attributes `xir.*`, each op's own rules, dominance.

    `known` are kinds of ops that were verified before, to which those of this module are added.
    DiagnosticError if one fails.
    """
    verified = _VerifiedByTypes(VerifiedKinds() if known is None else known)
    for op in (root, *ops_in(root, Operation)):
        if op.regions:
            _verify_terminators(op)
            _verify_arguments(op)
            _verify_symbols(op)
        if op.successors:
            _verify_successors(op)
        if verified.has_same(op):
            continue
        verified.verify(op)
        if (op.attributes or op.regions) and (problem := next(problems(op), None)) is not None:
            raise DiagnosticError(op, f"'{op_name(op)}' op {problem}")
    verify_dominance(root)


def _verify_alone(op: Operation) -> None:
    if (problem := oversized(op.result_types)) is not None:
        raise DiagnosticError(op, f"'{op_name(op)}' op {problem}")
    try:
        op.verify_()
    except VerifyException as error:
        _verify_isolated(op)
        raise DiagnosticError(op, f"'{op_name(op)}' op {' '.join(str(error).split())}") from error


def _verify_isolated(op: Operation) -> None:
    """DiagnosticError at the first use of a value from outside of an op that is isolated from above: xDSL says no more
    than the whole op that has it."""
    if not op.has_trait(IsolatedFromAbove):
        return
    for user in ops_in(op, Operation):
        for value in user.operands:
            owner = value.owner
            if owner is op or not op.is_ancestor(owner):
                what = f"the result of '{op_name(owner)}'" if isinstance(owner, Operation) else "an argument"
                where = user if user.location != UNKNOWN_LOC else value
                message = f"'{op_name(user)}' op uses {what}, which is not in '{op_name(op)}' around it"
                raise DiagnosticError(where, message, (note(value, "it is made here"),))


class VerifiedKinds:
    """Kinds of ops with the trait `VerifiedByTypes` that verify, whichever module they are in."""

    def __init__(self) -> None:
        self.numbers = AttributeNumbers()
        """What stands for types and properties in `kinds`."""
        self.kinds: set[Hashable] = set()


class _VerifiedByTypes:
    """Looks at one of several equal ops with the trait `VerifiedByTypes`, of which a program has many."""

    def __init__(self, known: VerifiedKinds) -> None:
        self._has_trait: dict[type[Operation], bool] = {}
        self._numbers = known.numbers
        self._known = known.kinds
        self._same: set[Hashable] = set()
        """Those of `_known` by the identities of their parts, which the module keeps meanwhile."""

    def has_same(self, op: Operation) -> bool:
        """Whether an op has nothing to be verified: an earlier one is made of the same types and attributes."""
        if not self._has(op):
            return False
        same = _identities(op)
        if same in self._same:
            return True
        self._same.add(same)
        return False

    def verify(self, op: Operation) -> None:
        """Verify an op by itself, unless an equal one was."""
        if not self._has(op):
            _verify_alone(op)
            return
        equal = self._kind(op)
        if equal not in self._known:
            _verify_alone(op)
            self._known.add(equal)

    def _has(self, op: Operation) -> bool:
        """Whether an op has the trait."""
        kind = type(op)
        if (known := self._has_trait.get(kind)) is None:
            known = self._has_trait[kind] = op.has_trait(VerifiedByTypes, value_if_unregistered=False)
        return known

    def _kind(self, op: Operation) -> Hashable:
        """What an op is verified by."""
        numbers = self._numbers
        return (
            type(op),
            tuple([numbers[value.type] for value in op.operands]),
            tuple([numbers[value.type] for value in op.results]),
            *[(name, _kind_of(value, numbers)) for name, value in op.properties.items()],
            *op.attributes,
        )


_ELEMENTS = frozenset({DenseResourceAttr, DenseIntOrFPElementsAttr})


def _identities(op: Operation) -> Hashable:
    """What an op is verified by, as the ids of its parts: made in a fraction of the time, and often the same."""
    properties, attributes, results = op.properties, op.attributes, op.results
    return (
        type(op),
        len(results),
        len(properties),
        *[id(value.type) for value in results],
        *[id(value.type) for value in op.operands],
        *properties,
        *[id(value) if type(value) not in _ELEMENTS else _elements(value) for value in properties.values()],
        *attributes,
        *map(id, attributes.values()),
    )


def _elements(constant: Attribute) -> Hashable:
    """What a constant's elements are verified by, which each has others of: how they are held, and their type."""
    assert isinstance(constant, DenseResourceAttr | DenseIntOrFPElementsAttr)
    return type(constant), id(constant.type)


def _kind_of(property: Attribute, numbers: AttributeNumbers) -> Hashable:
    """What of a property an op is verified by: of elements, which each constant has others of, their type."""
    if isinstance(property, DenseResourceAttr | DenseIntOrFPElementsAttr):
        return type(property), numbers[property.type]
    return numbers[property]


def _verify_terminators(op: Operation) -> None:
    if op.has_trait(NoTerminator):
        return
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if last is None:
                raise DiagnosticError(op, f"'{op_name(op)}' op has an empty block, which needs a terminator")
            if not last.has_trait(IsTerminator):
                raise DiagnosticError(last, f"'{op_name(last)}' op ends a block but is no terminator")


def _verify_symbols(op: Operation) -> None:
    if not op.has_trait(SymbolTable, value_if_unregistered=False):
        return
    if len(op.regions[0].blocks) != 1:
        raise DiagnosticError(op, f"'{op_name(op)}' op is a symbol table, whose region must have exactly one block")
    seen: dict[str, Operation] = {}
    for each in op.regions[0].block.ops:
        name = each.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        if (first := seen.setdefault(name.data, each)) is not each:
            notes = [note(first, "the symbol is already defined here")]
            raise DiagnosticError(each, f"redefinition of the symbol '{name.data}'", notes)


def _verify_arguments(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            if (problem := oversized(block.arg_types)) is not None:
                raise DiagnosticError(op, f"'{op_name(op)}' op {problem}")


def _verify_successors(op: Operation) -> None:
    block = op.parent
    if block is None or block.last_op is not op:
        raise DiagnosticError(op, f"'{op_name(op)}' op has successors, so it must end its block")
    if any(successor.parent is not block.parent for successor in op.successors):
        raise DiagnosticError(op, f"'{op_name(op)}' op branches to a block of another region")
    if any(successor is block.parent.first_block for successor in op.successors if block.parent is not None):
        raise DiagnosticError(op, f"'{op_name(op)}' op branches to the first block of its region, which none may")
