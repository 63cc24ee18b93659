"""The pattern driver: dispatch, order, locations, clean-up, cost."""

from collections.abc import Callable

# The edge dialect's classes are made from a table, so they are no types to pyright.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false, reportIncompatibleMethodOverride=false
import pytest
from reference.cost import assert_linear
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from xir.dialects.edge import OPS
from xir.ir.context import XirContext
from xir.ir.location import format_location
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text
from xir.ir.rewriting import NotConvergingError, rewrite_patterns

Relu, Exp, Neg = OPS["edge.relu"], OPS["edge.exp"], OPS["edge.neg"]


class ReluToExp(RewritePattern):
    """relu(x) -> exp(neg(x)), which no user wants."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Relu, rewriter: PatternRewriter, /) -> None:
        negated = Neg.create(operands=[op.operands[0]], result_types=op.result_types)
        rewriter.replace(op, [negated, Exp.create(operands=negated.results, result_types=op.result_types)])


class Visits(RewritePattern):
    """Writes down what it is shown."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        self.seen.append(op.name)


def module_of(*lines: str, result: str = "%x") -> ModuleOp:
    body = "\n".join(f"  {line} : (tensor<4xf32>) -> tensor<4xf32>" for line in lines)
    text = f"func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\n  func.return {result} : tensor<4xf32>\n}}"
    return parse_module(XirContext(), text, "m.mlir")


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk()][2:]


def test_a_replacement_is_where_the_matched_op_was() -> None:
    module = module_of("%0 = edge.relu(%x)", "%1 = edge.relu(%0)", result="%1")
    assert rewrite_patterns(module, [ReluToExp()])
    assert names(module) == ["edge.neg", "edge.exp", "edge.neg", "edge.exp", "func.return"]
    lines = [format_location(op.location) for op in module.walk() if op.name in ("edge.neg", "edge.exp")]
    assert lines == ["m.mlir:2:8", "m.mlir:2:8", "m.mlir:3:8", "m.mlir:3:8"]


def test_without_a_match_nothing_changes() -> None:
    module = module_of("%0 = edge.neg(%x)", result="%0")
    before = module_to_text(module)
    assert not rewrite_patterns(module, [ReluToExp()])
    assert module_to_text(module) == before


def test_ops_are_visited_in_program_order_and_the_root_is_not() -> None:
    module = module_of("%0 = edge.neg(%x)", "%1 = edge.relu(%0)", result="%1")
    visits = Visits()
    rewrite_patterns(module, [visits])
    assert visits.seen == ["func.func", "edge.neg", "edge.relu", "func.return"]


def test_the_first_pattern_that_matches_wins() -> None:
    class Name(RewritePattern):
        def __init__(self, name: str) -> None:
            self.name = name

        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: Relu, rewriter: PatternRewriter, /) -> None:
            if "by" not in op.attributes:
                op.attributes["by"] = StringAttr(self.name)
                rewriter.notify_op_modified(op)

    module = module_of("%0 = edge.relu(%x)", result="%0")
    assert rewrite_patterns(module, [Name("first"), Name("second")])
    assert [op.attributes.get("by") for op in module.walk() if isinstance(op, Relu)] == [StringAttr("first")]


@pytest.mark.parametrize("erase_dead", [True, False])
def test_dead_ops_go_if_wanted(erase_dead: bool) -> None:
    module = module_of("%0 = edge.relu(%x)", "%1 = edge.exp(%0)", "%2 = edge.neg(%1)")
    assert rewrite_patterns(module, [], erase_dead=erase_dead) is erase_dead
    assert len(names(module)) == (1 if erase_dead else 4)


def test_a_pattern_may_erase_a_whole_function() -> None:
    class DropFunctions(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: FuncOp, rewriter: PatternRewriter, /) -> None:
            rewriter.erase(op)

    module = module_of("%0 = edge.relu(%x)", result="%0")
    assert rewrite_patterns(module, [DropFunctions(), ReluToExp()])
    assert not list(module.ops)


class Swap(RewritePattern):
    """A pattern that undoes another."""

    def __init__(self, before: type[Operation], after: type[Operation]) -> None:
        self.before, self.after = before, after

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, self.before):
            rewriter.replace(op, self.after.create(operands=op.operands, result_types=op.result_types))


def test_patterns_that_undo_each_other_end_in_an_error() -> None:
    module = module_of("%0 = edge.relu(%x)", result="%0")
    with pytest.raises(NotConvergingError, match="Swap and the patterns with it rewrite for ever"):
        rewrite_patterns(module, [Swap(Relu, Exp), Swap(Exp, Relu)])


def test_a_pattern_whose_result_it_never_visits_ends_in_an_error() -> None:
    class ChangesBehindTheDriver(RewritePattern):
        """Sweep after sweep, says that it has changed something and does not say what."""

        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: Relu, rewriter: PatternRewriter, /) -> None:
            rewriter.has_done_action = True

    module = module_of("%0 = edge.relu(%x)", result="%0")
    with pytest.raises(NotConvergingError, match="still changes after 100 sweeps"):
        rewrite_patterns(module, [ChangesBehindTheDriver()])


def test_the_cost_is_linear_for_what_moves_up_a_chain() -> None:
    class ExpUp(RewritePattern):
        """exp(relu(x)) → relu(exp(x))."""

        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: Relu, rewriter: PatternRewriter, /) -> None:
            users = [use.operation for use in op.results[0].uses]
            if len(users) == 1 and isinstance(users[0], Exp):
                moved = Exp.create(operands=op.operands, result_types=op.result_types)
                relu = Relu.create(operands=moved.results, result_types=op.result_types)
                rewriter.insert([moved, relu])
                rewriter.replace(users[0], [], relu.results)

    def prepare(count: int) -> Callable[[], object]:
        lines = [f"%{i} = edge.relu({f'%{i - 1}' if i else '%x'})" for i in range(count)]
        module = module_of(*lines, f"%{count} = edge.exp(%{count - 1})", result=f"%{count}")

        def work() -> None:
            rewrite_patterns(module, [ExpUp()])
            assert names(module) == ["edge.exp", *["edge.relu"] * count, "func.return"]

        return work

    assert_linear(prepare, 200, 1600)


@pytest.mark.parametrize("falls", [False, True], ids=["rewritten", "falls from its end"])
def test_the_cost_is_linear_for_a_chain(falls: bool) -> None:
    def prepare(count: int) -> Callable[[], object]:
        lines = (f"%{i} = edge.relu({f'%{i - 1}' if i else '%x'})" for i in range(count))
        module = module_of(*lines, result="%x" if falls else f"%{count - 1}")

        def work() -> None:
            rewrite_patterns(module, [] if falls else [ReluToExp()])
            assert len(names(module)) == (1 if falls else 2 * count + 1)

        return work

    assert_linear(prepare, 200, 1600)


def test_linear_work_passes() -> None:
    assert_linear(lambda size: lambda: sum(range(100 * size)), 300, 2400)


def test_quadratic_work_is_caught() -> None:
    with pytest.raises(AssertionError):
        assert_linear(lambda size: lambda: [sum(range(size)) for _ in range(size)], 300, 2400)
