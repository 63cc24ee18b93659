"""Passes, their options, pipelines as text, the pass manager."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import PassFailedException

from xir.ir.context import XirContext
from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError
from xir.ir.internal_errors import InternalError
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager, XirPass, pass_name
from xir.ir.pipeline import parse_pipeline
from xir.ir.rewriting import rewrite_patterns


@dataclass(frozen=True)
class TakesOptionsPass(XirPass):
    """Has one option of each type."""

    min_ops: int = 1
    scale: float = 0.5
    loud: bool = False
    names: tuple[str, ...] = ()
    limit: int | None = None
    target: Literal["xir", "executorch"] = "xir"

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class NeedsOptionPass(XirPass):
    """Has an option without a default."""

    path: str

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Do nothing."""


def pass_of(name: str, function: Callable[[XirContext, ModuleOp], None]) -> type[XirPass]:
    """A pass without options that does what a function does."""

    def apply(self: XirPass, ctx: XirContext, op: ModuleOp) -> None:
        function(ctx, op)

    return dataclass(frozen=True)(type(name, (XirPass,), {"apply": apply, "__doc__": function.__doc__}))


def break_module(ctx: XirContext, op: ModuleOp) -> None:
    """Leaves a function without its terminator."""
    last = next(iter(op.ops)).regions[0].block.last_op
    assert last is not None
    last.detach()
    last.erase()


def report_errors(ctx: XirContext, op: ModuleOp) -> None:
    """Reports two errors."""
    ctx.diagnostics.error(op, "one")
    ctx.diagnostics.error(op, "two")


def fail_as_xdsl_does(ctx: XirContext, op: ModuleOp) -> None:
    """Raises what xDSL's passes raise."""
    raise PassFailedException("cannot")


def go_on_for_ever(ctx: XirContext, op: ModuleOp) -> None:
    """Has a pattern that matches what it makes."""
    rewrite_patterns(op, [MakesAnother()])


BreaksModulePass = pass_of("BreaksModulePass", break_module)
ReportsErrorsPass = pass_of("ReportsErrorsPass", report_errors)
FailsXdslsWayPass = pass_of("FailsXdslsWayPass", fail_as_xdsl_does)
GoesOnForEverPass = pass_of("GoesOnForEverPass", go_on_for_ever)


@dataclass(frozen=True)
class HasBugPass(XirPass):
    """Has a bug, which an op meets."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Ask for an attribute that is not there."""
        for each in op.walk():
            if each.name == "func.return":
                self.rewrite(each)

    def rewrite(self, op: Operation) -> None:
        """Fail."""
        assert op.attributes["missing"]


@dataclass(frozen=True)
class HasBugInLoopPass(XirPass):
    """Has a bug, which an op of a function meets while the function is at hand as well."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Ask for an attribute that is not there."""
        for function in op.body.block.ops:
            for each in function.regions[0].block.ops:
                assert each.attributes["missing"]


class MakesAnother(RewritePattern):
    """Replaces a return by another."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReturnOp, rewriter: PatternRewriter, /) -> None:
        """Rewrite one."""
        rewriter.replace(op, ReturnOp())


PASSES = {cls.name: (lambda cls=cls: cls) for cls in (TakesOptionsPass, NeedsOptionPass, BreaksModulePass)}
PIPELINES = {
    "twice": "takes-options{min-ops=3},takes-options",
    "of-none": "twice,zzz",
    "itself": "back",
    "back": "twice,itself",
}


def module() -> ModuleOp:
    return parse_module(XirContext(), "\nfunc.func @f() {\n  func.return\n}", "m.mlir")


def test_the_name_comes_from_the_class() -> None:
    assert TakesOptionsPass.name == "takes-options"
    assert pass_name("CsePass") == "cse"


def test_options_are_read_and_written() -> None:
    text = "takes-options{min-ops=2 scale=1 loud names=edge.cat,edge.mean.dim limit=none target=executorch}"
    (parsed,) = parse_pipeline(text, PASSES)
    assert parsed == TakesOptionsPass(2, 1.0, True, ("edge.cat", "edge.mean.dim"), None, "executorch")
    written = "takes-options{min-ops=2 scale=1.0 loud=true names=edge.cat,edge.mean.dim target=executorch}"
    assert str(parsed) == written
    assert parse_pipeline(written, PASSES) == [parsed]
    assert str(TakesOptionsPass()) == "takes-options"
    assert str(NeedsOptionPass("a")) == "needs-option{path=a}"


@pytest.mark.parametrize("text", ["path='a b'", 'path="a b"', "path={a b}", "  path='a b'  "])
def test_a_value_with_spaces_is_quoted(text: str) -> None:
    assert parse_pipeline(f"needs-option{{{text}}}", PASSES) == [NeedsOptionPass("a b")]


@pytest.mark.parametrize(
    "text",
    [
        "twice",
        "builtin.module(twice)",
        "module( takes-options{min-ops=3} , takes-options )",
        " takes-options{min_ops=3},takes-options{} ",
    ],
)
def test_forms_of_one_pipeline(text: str) -> None:
    assert parse_pipeline(text, PASSES, PIPELINES) == [TakesOptionsPass(3), TakesOptionsPass()]


def test_nothing_is_an_empty_pipeline() -> None:
    assert parse_pipeline("", PASSES) == parse_pipeline("builtin.module()", PASSES) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("takes-option", "1:1: error: unknown pass 'takes-option', did you mean 'takes-options'?"),
        ("twice,zzz", "1:7: error: unknown pass 'zzz'"),
        ("takes-options{min-ops=x}", "1:1: error: option 'min-ops' of 'takes-options': expected an integer, got 'x'"),
        ("takes-options{scale=}", "option 'scale' of 'takes-options': expected a number, got ''"),
        ("takes-options{loud=perhaps}", "expected true or false, got 'perhaps'"),
        ("takes-options{target=phone}", "expected xir or executorch, got 'phone'"),
        ("takes-options{x=1}", "'takes-options' has no option 'x': its options are limit, loud"),
        ("breaks-module{x=1}", "'breaks-module' has no option 'x': it has none"),
        ("needs-option", "'needs-option' needs the option 'path'"),
        ("needs-option{path='a}", "1:13: error: unbalanced braces or quotes"),
        ("needs-option{path=a", "1:13: error: unbalanced braces or quotes"),
        ("needs-option{=a}", "1:14: error: expected option=value"),
        ("twice{a=1}", "'twice' is a pipeline and takes no options"),
        ("twice,of-none", "1:7: error: in the pipeline 'of-none': unknown pass 'zzz'"),
        (
            "itself",
            "1:1: error: in the pipeline 'itself': in the pipeline 'back': the pipeline 'itself' contains itself",
        ),
        ("twice twice", "1:7: error: expected ',' between passes"),
        ("twice,", "1:7: error: expected a pass after ','"),
        (",twice", "1:1: error: expected the name of a pass"),
        ("builtin.module(twice", "1:21: error: expected ')'"),
        ("func.func(twice)", "1:1: error: passes run on builtin.module only, not on 'func.func'"),
    ],
)
def test_what_is_wrong_is_said_at_its_column(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        parse_pipeline(text, PASSES, PIPELINES)
    assert str(raised.value).startswith("<pass-pipeline>:1:")
    assert message in str(raised.value)


def test_hooks_and_timings_come_in_order() -> None:
    events: list[str] = []
    manager = PassManager(XirContext(), [TakesOptionsPass(), TakesOptionsPass(2)])
    manager.before_pass.append(lambda each, _: events.append(f"before {each}"))
    manager.after_pass.append(lambda each, _: events.append(f"after {each}"))
    manager.run(module())
    assert events == [
        "before takes-options",
        "after takes-options",
        "before takes-options{min-ops=2}",
        "after takes-options{min-ops=2}",
    ]
    assert [name for name, _ in manager.timings] == [
        "verifier",
        "takes-options",
        "verifier",
        "takes-options",
        "verifier",
    ]


@pytest.mark.parametrize("is_watched", [False, True])
def test_the_collector_comes_between_passes_only_where_hooks_copy_the_module(is_watched: bool) -> None:
    collections: list[str] = []
    before_pass: list[int] = []

    class LeavesCyclesPass(XirPass):
        """Leaves as much garbage as the collector comes for."""

        def apply(self, ctx: XirContext, op: ModuleOp) -> None:
            """Make lists that hold themselves."""
            before_pass.append(len(collections))
            for _ in range(2 * gc.get_threshold()[0]):
                cycle: list[object] = []
                cycle.append(cycle)

    def collecting(phase: str, info: dict[str, int]) -> None:
        collections.append(phase)

    manager = PassManager(XirContext(), [LeavesCyclesPass(), LeavesCyclesPass()], verify_each=False)
    if is_watched:
        manager.after_pass.append(lambda each, module: None)
    gc.callbacks.append(collecting)
    try:
        manager.run(module())
    finally:
        gc.callbacks.remove(collecting)
    assert gc.isenabled()
    assert (before_pass[1] > before_pass[0]) == is_watched


def test_a_pass_that_breaks_the_module_is_named() -> None:
    with pytest.raises(DiagnosticError) as raised:
        PassManager(XirContext(), [BreaksModulePass()]).run(module())
    assert str(raised.value).splitlines() == [
        "m.mlir:2:1: error: 'func.func' op has an empty block, which needs a terminator",
        "m.mlir:2:1: note: the module does not verify after breaks-module",
    ]


def test_verification_can_be_left_out() -> None:
    PassManager(XirContext(), [BreaksModulePass()], verify_each=False).run(module())


def test_reported_errors_end_the_pipeline() -> None:
    ctx = XirContext()
    with ctx.diagnostics.collect() as collected, pytest.raises(AlreadyReportedError):
        PassManager(ctx, [ReportsErrorsPass(), BreaksModulePass()]).run(module())
    assert [diagnostic.message for diagnostic in collected] == ["one", "two"]


def test_xdsls_way_to_fail_becomes_a_diagnostic() -> None:
    with pytest.raises(DiagnosticError, match="fails-xdsls-way: cannot"):
        PassManager(XirContext(), [FailsXdslsWayPass()]).run(module())


@pytest.mark.parametrize("buggy", [HasBugPass(), HasBugInLoopPass()])
def test_a_bug_is_no_mistake_of_the_user_and_has_its_place(buggy: XirPass) -> None:
    with pytest.raises(InternalError) as raised:
        PassManager(XirContext(), [TakesOptionsPass(), buggy]).run(module())
    expected = f"m.mlir:3:3: error: internal error in pass '{buggy.name}' at op 'func.return': KeyError: 'missing'"
    assert str(raised.value) == expected
    assert isinstance(raised.value.__cause__, KeyError)


def test_patterns_that_go_on_for_ever_are_a_bug_of_their_pass() -> None:
    with pytest.raises(InternalError) as raised:
        PassManager(XirContext(), [GoesOnForEverPass()]).run(module())
    message = "NotConvergingError: MakesAnother and the patterns with it rewrite for ever"
    expected = f"m.mlir:3:3: error: internal error in pass 'goes-on-for-ever' at op 'func.return': {message}"
    assert str(raised.value) == expected
