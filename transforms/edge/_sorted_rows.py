"""Rows that are sorted by the number of an expert, so that those of each expert stand together.

Row t·k + j is the j-th of the k experts that token t is given to. Each step is checked: what is not proven to compute
a row of its token and its expert alone, whatever the order of rows, is not followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import ELEMENTWISE, GROUPED_PRODUCTS
from xir.dialects.edge.types import element_of, is_integral, shape_of, wrap_dim
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._whole_index import RESHAPES

Part = edge.SplitTensorOp | edge.SliceTensorOp
"""Ops that take some elements of each row."""


@dataclass
class SortedRows:
    """The rows in their order, and what a program computes of them."""

    sizes: SymbolicSizes
    sort: edge.SortOp
    """Sorts the numbers of experts, [S]."""
    per_token: int
    """k."""
    experts: int = 0
    """E, as the first product of groups that is asked about has it."""
    tokens: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """A value that has the token of each row -> the tokens, [T, K]."""
    by_expert: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """A value that has, for each row, what belongs to its expert -> that of all experts, [E, N]."""
    steps: dict[edge.EdgeOp, bool] = field(default_factory=dict[edge.EdgeOp, bool])
    """What computes rows of these, in the order of the program -> whether they differ by expert."""

    @property
    def order(self) -> SSAValue:
        """The row at each place."""
        return self.sort.results[1]

    def follow(self, value: SSAValue) -> bool:
        """Add what computes a value of rows; False where that is not known to be computed row by row."""
        op = value.owner
        if value in self.tokens or value in self.by_expert or op in self.steps:
            return True
        if isinstance(op, edge.IndexTensorOp):
            return self.follow_index(op)
        if not isinstance(op, edge.EdgeOp) or len(shape_of(value)) != 2:
            return False
        rows = self.row_operands(op)
        if not rows or not all(map(self.follow, rows)):
            return False
        is_product = isinstance(op, edge.OpaqueOp)
        differs = any(map(self.differs_by_expert, rows))
        if is_product and differs:
            return False  # would be a product for each expert
        self.steps[op] = is_product or differs
        return True

    def follow_index(self, op: edge.IndexTensorOp) -> bool:
        """Add rows that are taken of tokens by the number of the row, or of experts by the number of the expert."""
        shape = self.sizes.known(op.self)
        if len(op.indices) != 1 or len(shape) != 2:
            return False
        index, (rows,) = op.indices[0], self.sizes.known(self.order)
        if index is self.sort.results[0] and shape[0] == self.experts:
            self.by_expert[op.results[0]] = op.self
            return True
        quotient = None if index is None else index.owner
        if not isinstance(quotient, edge.DivScalarModeOp) or quotient.self is not self.order:
            return False
        is_token = quotient.rounding_mode == "floor" and quotient.other == self.per_token
        if is_token and shape[0] * self.per_token == rows:
            self.tokens[op.results[0]] = op.self
        return op.results[0] in self.tokens

    def row_operands(self, op: edge.EdgeOp) -> list[SSAValue]:
        """The operands whose rows an op computes with, one by one, the others being the same for all; none for others.

        A product of groups multiplies each row by the matrix of its expert.
        """
        if isinstance(op, edge.OpaqueOp):
            return [op.operands[0]] if self.is_product(op) else []
        if isinstance(op, Part):
            return [op.self] if wrap_dim(op.dim, 2) == 1 else []
        if op.name not in ELEMENTWISE:
            return []
        return [value for value in op.tensor_operands if len(shape_of(value)) == 2 and shape_of(value)[0] != 1]

    def differs_by_expert(self, value: SSAValue) -> bool:
        """Whether rows of a value that was followed are not the same for all experts of a token."""
        return value in self.by_expert or (isinstance(op := value.owner, edge.EdgeOp) and self.steps.get(op, False))

    def is_product(self, op: object) -> bool:
        """Whether an op multiplies each row by the matrix of its expert."""
        if not isinstance(op, edge.OpaqueOp) or op.operator_name not in GROUPED_PRODUCTS or len(op.operands) != 3:
            return False
        rows, matrices, ends = op.operands
        is_of_one_type = len({element_of(value) for value in (rows, matrices, op.results[0])}) == 1
        if not is_of_one_type or (len(shape_of(rows)), len(shape_of(matrices))) != (2, 3):
            return False
        experts = shape_of(matrices)[0]
        if self.experts not in (0, experts) or op.argument("offs") is not ends or not self.ends_groups(ends, experts):
            return False
        self.experts = experts
        return True

    def ends_groups(self, ends: SSAValue, experts: int) -> bool:
        """Whether a value has the place behind the last row of each of `experts`: how many rows it and those before
        it have."""
        cumsum = ends.owner
        if not isinstance(cumsum, edge.CumsumOp) or shape_of(ends) != (experts,) or not is_integral(element_of(ends)):
            return False
        counts = cumsum.self.owner
        if not isinstance(counts, edge.OpaqueOp) or counts.operator_name != "aten::histc":
            return False
        numbers = counts.operands[0].owner
        if not isinstance(numbers, edge.ToCopyOp) or element_of(numbers.results[0]) != f32:
            return False
        if tuple(map(counts.argument, ("bins", "min", "max"))) != (experts, 0, experts - 1):
            return False
        return numbers.self is self.sort.results[0] and self.are_places(self.sort.self, experts)

    def are_places(self, numbers: SSAValue, experts: int) -> bool:
        """Whether each number is the place of one of `experts` scores."""
        numbers = without_reshapes(numbers)
        op = numbers.owner
        if not isinstance(op, edge.TopkOp) or numbers is not op.results[1]:
            return False
        scores = self.sizes.known(op.self)
        return bool(scores) and scores[wrap_dim(op.dim, len(scores))] == experts


def without_reshapes(value: SSAValue) -> SSAValue:
    """What has the elements of a value, in the same order, before it was given its shape."""
    while isinstance(op := value.owner, edge.EdgeOp) and op.name in RESHAPES:
        value = op.operands[0]
    return value
