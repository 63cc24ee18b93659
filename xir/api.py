"""The public API: from an exported program to the bytes of a `.pte`, with the names of ExecuTorch's API.

Each step returns a new object, and leaves its argument unchanged.
"""

from __future__ import annotations

import dataclasses
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from xir.dialects.delegate import GraphOp
from xir.dialects.edge import EdgeOp
from xir.files import atomic_files, weights_path
from xir.ir.cloning import clone_module
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, Severity
from xir.ir.passes import PassManager, XirPass
from xir.ir.printer import module_to_text
from xir.ir.remarks import RemarkFilter
from xir.ir.targets import Target
from xir.ir.verifier import verify
from xir.ir.walking import ops_in
from xir.transforms.delegate.forming.late_refusals import run_passes
from xir.transforms.delegate.forming.marks import NotDelegated
from xir.transforms.registry import passes_of

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xir.cost_report import CostReport

    Exported = ExportedProgram | str | os.PathLike[str]

    from xir.evaluate import NumericsChecker
    from xir.explore import Recorder
    from xir.lock.contract import Contract, Kept


Constant = int | float | str | Sequence[int | float | str]
"""The result of a constant method."""


def to_edge(
    programs: Exported | Mapping[str, Exported],
    *,
    constant_methods: Mapping[str, Constant] | None = None,
    max_size: int | None = None,
    return_changed_inputs: bool = False,
) -> EdgeProgram:
    """Import an exported program, or the `.pt2` file of one, into the edge dialect as the method `forward`.

    A mapping from names to programs gives one method for each name. Methods share weights with equal contents, and
    mutable buffers with the same name, whose initial values must be equal.

    - `constant_methods` are methods with a fixed result, such as `get_max_seq_len`: a number, a text, or a list of
      them.
    - `max_size` bounds dimensions that were exported without a bound (`Dim.AUTO`, `Dim("n")`); memory is planned for
      it.
    - `return_changed_inputs` accepts programs that write to their inputs, and appends the new values to the outputs, in
      the order of the inputs.

    Raises DiagnosticError, with the line of the model's Python, for what a compiled program cannot do; TypeError or
    ValueError for invalid programs, names or values.
    """
    from xir.plugin_loading import load_installed_plugins

    load_installed_plugins()
    ctx = XirContext()
    named = programs if isinstance(programs, Mapping) else {"forward": programs}
    constants = {name: constant_values(name, value) for name, value in (constant_methods or {}).items()}
    if not named:
        raise ValueError("to_edge takes one program at least")
    if max_size is not None and max_size < 1:
        raise ValueError(f"max_size is a number from 1 on, not {max_size}")
    if taken := named.keys() & constants.keys():
        raise ValueError(f"there are two methods '{min(taken)}'")
    functions: list[Operation] = []
    for name, program in named.items():
        module = _imported(program, name, ctx, max_size, return_changed_inputs=return_changed_inputs)
        for function in list(module.body.ops):
            function.detach()
            functions.append(function)
    return EdgeProgram(ModuleOp(functions), ctx, constant_methods=constants)


def load(path: str | os.PathLike[str], *, data: Sequence[str | os.PathLike[str]] = ()) -> ExecutorchProgram:
    """Read a `.pte` file, from xir or ExecuTorch, as IR: `load("model.pte").optimized(XnnpackPartitioner())`.

    Ops get the locations of the file's debug information; nodes without one get a name. `data` are the `.ptd` files
    with the program's weights, which become part of it: saving it writes one file, or two with `weights_apart`.

    The files are mapped and stay in use. Raises OSError if one cannot be opened, and FormatError if one is damaged.
    """
    from xir.emitter import read
    from xir.emitter.container import map_file
    from xir.emitter.data_file import read_weights
    from xir.emitter.debug_locations import locate, name_nodes
    from xir.plugin_loading import load_installed_plugins

    load_installed_plugins()
    ctx = XirContext()
    module = read(map_file(os.fspath(path)), ctx, read_weights(data) if data else None)
    locate(module, ctx)
    name_nodes(module)
    # What debug information the file has is written again; names that it lacks are no part of it.
    return ExecutorchProgram(module, ctx, debug_info=False)


def _imported(
    program: Exported, name: str, ctx: XirContext, max_size: int | None, *, return_changed_inputs: bool
) -> ModuleOp:
    """A module of one function."""
    from xir.importer import import_exported_program, load_pt2

    if isinstance(program, str | os.PathLike):
        program = load_pt2(program)
    if not hasattr(program, "graph_signature"):
        raise TypeError(
            f"to_edge takes an ExportedProgram or the path of a .pt2 file, not a {type(program).__name__}: "
            "export the model first, torch.export.export(model, inputs)"
        )
    return import_exported_program(program, ctx, name, max_size, return_changed_inputs=return_changed_inputs)


def constant_values(name: str, value: object) -> tuple[int | float | str, ...]:
    """The result of a constant method, one value or several. TypeError for values that a file cannot hold."""
    values = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    for each in values:
        if not isinstance(each, int | float | str):
            raise TypeError(f"constant method '{name}' answers numbers and texts, not a {type(each).__name__}")
    return tuple(each for each in values if isinstance(each, int | float | str))


class Partitioner(Protocol):
    """The argument of `to_backend`: the passes that delegate ops to a backend."""

    def passes(self) -> Sequence[XirPass]:
        """The passes, in order."""
        ...


@dataclass(frozen=True)
class XnnpackPartitioner:
    """Selects the ops to delegate to XNNPACK, and how: the options of the `delegate` pipeline's passes, by their names.

    Raises ValueError for an unknown op name, and for a profile or choices that cannot be read.
    """

    target: Target = "executorch"
    """The runtime whose XNNPACK nodes may be used. Files for `executorch` run in both."""
    ops: tuple[str, ...] = ()
    """Delegate only these ops, such as "edge.linear"; all ops if none is named.

    `edge.` may be omitted; a name without an overload, such as "add", stands for all overloads.
    """
    exclude: tuple[str, ...] = ()
    """Leave these ops to the kernels outside XNNPACK, named as for `ops`."""
    dtypes: tuple[Literal["f32", "f16", "bf16"], ...] = ("f32", "f16", "bf16")
    """Delegate only ops that compute in these floating-point types."""
    min_ops: int = 1
    """Leave groups of fewer nodes to the kernels outside XNNPACK."""
    per_op: bool = False
    """Make each op a delegate of its own, to find out which one is wrong or slow."""
    check: bool = True
    """Ask the installed XNNPACK whether it accepts each node, and leave outside what it refuses."""
    cpu: str = "generic"
    """The processors that the file is optimised for; it runs on all others too.

    `generic` uses forms that are faster by every profile of this machine's architecture (`generic-x86` and
    `generic-arm` name it), `native` the fastest forms for this machine, `any` none. Or it is a cost profile: a name,
    such as `zen4`, or a file from `xir-tune`.
    """
    max_growth: float | None = None
    """How many more bytes the weights of faster forms may take, as a share of all weights: an option of
    `winograd-conv2d`.

    By default 0.25 for `generic`, and no limit for one processor.
    """
    threads: int = 0
    """How many threads the file is meant for: faster forms are those that save time on so many. It runs on any number.

    With 0 forms save time on one thread, and by `generic` they also lose at most a tenth on two.
    """
    max_error: float = 4.0
    """The largest error of faster forms of convolutions, relative to plain ones: an option of `winograd-conv2d`."""

    choices: str = ""
    """A file of measured forms of convolutions, written by `xir.tuning.search.tune`."""

    max_arena: int = 0
    """The most bytes of tensors that a delegate may need at once; 0 for no limit: an option of `band-spatial`."""

    bit_exact: bool = False
    """Make results the same on all x86 and 64-bit Arm processors, to the bit, or fail at an op that cannot be.

    Products of 8-bit numbers are computed in fp32; `to_executorch` refuses whatever differs between processors.
    """

    def __post_init__(self) -> None:
        self.passes()

    def passes(self) -> list[XirPass]:
        """The `delegate` pipeline; each pass gets the options that have the names of its own."""
        return list(self._delegate)

    @cached_property
    def _delegate(self) -> tuple[XirPass, ...]:
        return tuple(self.passes_of("delegate"))

    def passes_of(self, pipeline: str) -> list[XirPass]:
        """The passes of a pipeline, such as a phase of `delegate`, with these options.

        ValueError for one that cannot be made `bit_exact`, since it lacks the pass that comes behind what does that.
        """
        given = {option.name: getattr(self, option.name) for option in dataclasses.fields(self)}
        passes = [
            _with_options(each, given) for each in passes_of(pipeline) if self.check or each.name != "check-xnnpack"
        ]
        if not self.bit_exact:
            return passes
        # It computes in fp32 what takes longer on integers.
        passes = [each for each in passes if each.name not in ("widen-depthwise", "widen-products")]
        return _with_pass(passes, MAKE_BIT_EXACT, before="avoid-xnnpack-faults")


MAKE_BIT_EXACT = "make-bit-exact"
"""The pass whose presence asks `to_executorch` for `check-bit-exact`."""


def _with_pass(passes: Sequence[XirPass], name: str, *, before: str) -> list[XirPass]:
    """The passes, with one more in front of those named `before`. ValueError if there are none of them.

    A promise that a pass keeps, such as `bit_exact`, would otherwise be broken without a word.
    """
    if all(each.name != before for each in passes):
        raise ValueError(f"the passes have no '{before}', before which '{name}' has to run")
    return [new for each in passes for new in ((*passes_of(name), each) if each.name == before else (each,))]


def _with_options(each: XirPass, given: Mapping[str, object]) -> XirPass:
    """A pass with the options that have a name of its own. ValueError for what it does not take."""
    own = {option.name: given[option.name] for option in dataclasses.fields(each) if option.name in given}
    return dataclasses.replace(each, **own) if own else each


@dataclass(frozen=True)
class PipelinePartitioner:
    """Passes in `xir-opt`'s notation, such as "simplify,my-pass" or the name of a plugin's pipeline.

    Raises DiagnosticError for an invalid pipeline.
    """

    pipeline: str

    def __post_init__(self) -> None:
        self.passes()

    def passes(self) -> list[XirPass]:
        """The passes of the pipeline."""
        return passes_of(self.pipeline)


@dataclass(frozen=True)
class EdgeProgram:
    """A program in the edge dialect; after `to_backend`, with subgraphs in the xnnpack dialect.

    `print(program)` prints its IR, without the weights.
    """

    module: ModuleOp = field(repr=False)
    """The IR. Printing it omits the weights."""
    ctx: XirContext = field(repr=False)
    """Holds the IR's weights."""
    remarks: Sequence[Diagnostic] = field(default_factory=tuple[Diagnostic, ...])
    """The remarks of passes, such as why an op was not delegated."""
    constant_methods: Mapping[str, Sequence[int | float | str]] = field(
        default_factory=dict[str, tuple[int, ...]], repr=False
    )
    """Methods with fixed results."""
    passes: Sequence[str] = field(default=(), repr=False)
    """The passes that have run, in `xir-opt`'s notation."""

    def __str__(self) -> str:
        return module_to_text(self.module).rstrip()

    def to_backend(
        self,
        partitioner: Partitioner,
        *,
        numerics: NumericsChecker | None = None,
        recorder: Recorder | None = None,
        remarks: RemarkFilter | None = None,
    ) -> EdgeProgram:
        """Delegate the ops that a backend can compute: `XnnpackPartitioner` for XNNPACK; call again for other backends.

        `remarks` selects further remarks of passes, besides ops that are not delegated or stay in floating point.

        If XNNPACK refuses a node after fusion or layout, the original ops of this node stay outside, and the rest is
        delegated again.
        """
        passes = partitioner.passes()
        module, ctx, said = _transform(self.module, self.ctx, passes, numerics, recorder, remarks)
        kept = _still_true(self.remarks, said, module)
        return EdgeProgram(module, ctx, (*kept, *said), self.constant_methods, (*self.passes, *_texts(passes)))

    def cost_report(self, cpu: str, threads: int = 1) -> CostReport:
        """The delegated program's predicted time, node by node, without running it.

        `cpu` is one processor: `native`, a cost profile such as `zen4`, or a file from `xir-tune`. Raises ValueError
        for anything else. Where several `threads` share each node, they also wait for each other at its end.
        """
        from xir.cost.processors import one_profile
        from xir.cost_report import cost_report

        return cost_report(self.module, self.ctx, one_profile(cpu, threads))

    def to_executorch(
        self,
        *,
        debug_info: bool = True,
        numerics: NumericsChecker | None = None,
        recorder: Recorder | None = None,
        remarks: RemarkFilter | None = None,
        memory_plan: Literal["greedy", "exact"] = "greedy",
        solver_seconds: float = 10.0,
    ) -> ExecutorchProgram:
        """Lower to kernel and delegate calls, and plan memory.

        With `debug_info` the file has the source line, module and ATen op of each node and kernel call, for profiles
        and errors. This takes some tens of bytes a node, and contains the names of the model's source files. `remarks`
        selects further remarks of passes, besides kernels that ExecuTorch lacks.

        `memory_plan` and `solver_seconds` are options of `plan-memory`: "exact" asks a solver where an arena may be too
        large, which needs `xir[solver]`. ValueError for seconds that are no number above 0.

        DiagnosticError if a partitioner was asked for a `bit_exact` program, and the program cannot be one.
        """
        given = {"memory_plan": memory_plan, "solver_seconds": solver_seconds}
        passes = [_with_options(each, given) for each in passes_of("emit")]
        if MAKE_BIT_EXACT in self.passes:
            passes = _with_pass(passes, "check-bit-exact", before="lower-to-pte")
        module, ctx, said = _transform(self.module, self.ctx, passes, numerics, recorder, remarks)
        _add_constant_methods(module, self.constant_methods)
        return ExecutorchProgram(module, ctx, said, debug_info, (*self.passes, *_texts(passes)), self.remarks)


@dataclass(frozen=True)
class ExecutorchProgram:
    """A program in the pte dialect: the content of a `.pte` file. `print(program)` prints its IR, without weights."""

    module: ModuleOp = field(repr=False)
    ctx: XirContext = field(repr=False)
    remarks: Sequence[Diagnostic] = field(default_factory=tuple[Diagnostic, ...])
    """The remarks of passes, such as that ExecuTorch lacks a kernel."""
    debug_info: bool = True
    """Whether the file records the source line, module and ATen op of its parts."""
    passes: Sequence[str] = field(default=(), repr=False)
    """The passes that have run, in `xir-opt`'s notation."""
    edge_remarks: Sequence[Diagnostic] = field(default=(), repr=False)
    """The remarks of the edge program, such as why an op was not delegated."""

    def __str__(self) -> str:
        return module_to_text(self.module).rstrip()

    def optimized(
        self,
        partitioner: XnnpackPartitioner,
        *,
        pipeline: str = "remake",
        remarks: RemarkFilter | None = None,
    ) -> ExecutorchProgram:
        """Compile the program once more: its kernel calls and XNNPACK's delegates become ops again, and are delegated
        together.

        A method that cannot be raised keeps its kernel calls, and a remark says why; its delegates are optimised unless
        their sizes are open. Delegates of other backends stay as they are. `pipeline` may be phases of `delegate`
        instead: "optimize,schedule,finish" rewrites delegates alone, and "rearrange,finish" rounds as before.

        `remarks` selects further remarks of passes. Raises DiagnosticError for nodes that XNNPACK refuses, and
        ValueError for a `bit_exact` partitioner: what stays as it is would not be checked.
        """
        from xir.dialects.pte import DEBUG_INFO_KEY, NamedDataOp
        from xir.transforms.pte.raise_from_pte import RaiseFromPtePass
        from xir.transforms.pte.raising.open_plans import restore_open_plans

        if partitioner.bit_exact:
            raise ValueError("bit_exact is for programs that are compiled whole, not for existing files")
        if any(graph.properties.get("target") == StringAttr("xir") for graph in ops_in(self.module, GraphOp)):
            partitioner = dataclasses.replace(partitioner, target="xir")
        placed = _places_given(self.module)
        passes = [_with_options(each, placed) for each in partitioner.passes_of(pipeline)]
        module, ctx, said = _transform(self.module, self.ctx, passes, None, None, remarks)
        raises = any(isinstance(each, RaiseFromPtePass) for each in passes)
        restore_open_plans(module, self.module, all_stay=not raises)
        had_debug_info = any(op.key.data == DEBUG_INFO_KEY for op in ops_in(self.module, NamedDataOp))
        return dataclasses.replace(
            self,
            module=module,
            ctx=ctx,
            remarks=(*self.remarks, *said),
            debug_info=self.debug_info or had_debug_info,
            passes=(*self.passes, *_texts(passes)),
        )

    @property
    def method_names(self) -> list[str]:
        """The names of the methods."""
        from xir.dialects.pte import ExecutionPlanOp

        return [plan.sym_name.data for plan in ops_in(self.module, ExecutionPlanOp)]

    @property
    def num_delegates(self) -> int:
        """The number of delegates in all methods."""
        from xir.dialects.pte import DelegateOp

        return sum(1 for _ in ops_in(self.module, DelegateOp))

    @property
    def kernel_names(self) -> list[str]:
        """The kernels that are called outside delegates, such as `aten::add.out`, in the order of their first call."""
        from xir.dialects.pte import KernelCallOp

        calls = ops_in(self.module, KernelCallOp)
        return list(dict.fromkeys(call.kernel.data for call in calls))

    @property
    def missing_kernels(self) -> list[str]:
        """The `kernel_names` that stock ExecuTorch lacks; it refuses a file with any of them."""
        from xir.dialects.edge.kernels import executorch_kernels

        return [name for name in self.kernel_names if name not in executorch_kernels()]

    @property
    def buffer(self) -> bytes:
        """The bytes of the file."""
        stream = io.BytesIO()
        self.write_to_file(stream)
        return stream.getvalue()

    def write_to_file(
        self, file: BinaryIO, weights: BinaryIO | None = None, *, data: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        """Write the file's bytes without copying the weights. If `weights` is given, write them there as a `.ptd`.
        `data` is what `save` takes."""
        from xir.emitter import emit
        from xir.emitter.data_file import read_weights

        known, own = read_weights(data), self._operators_of_the_model()
        if not own:
            emit(self.module, self.ctx, file, debug_info=self.debug_info, weights=weights, known=known)
            return
        from xir.runtime.compiled_here import HashingWriter

        hashing = HashingWriter(file)
        emit(self.module, self.ctx, hashing, debug_info=self.debug_info, weights=weights, known=known)
        hashing.vouch(own)

    def _operators_of_the_model(self) -> list[str]:
        """Those of `kernel_names` that xir does not know: it calls them because the model does."""
        from xir.dialects import edge

        known = {name for op in edge.OPS.values() for name in (op.row.out, op.row.schema.qualified_name)}
        return [name for name in self.kernel_names if name not in known]

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        weights_apart: bool = False,
        data: Sequence[str | os.PathLike[str]] = (),
        contract: Contract | None = None,
    ) -> Kept | None:
        """Write the file `path`, and with `weights_apart` its weights to a `.ptd` of the same name next to it.

        `data` are `.ptd` files that other programs may share, such as those that this one was loaded with: it goes on
        reading there the weights that they have, and holds those alone that it has anew.

        With `contract`, the program is checked first: BrokenContractError if it breaks the contract. The result then
        has the differences from the lock. A new lock is written, and an existing one if it is to be updated.

        All files appear complete, or none does. Raises OSError if a file cannot be written,
        ValueError if `path` itself ends in `.ptd` or if weights would go to two places, and FormatError for damaged
        `data`.
        """
        if weights_apart and data:
            raise ValueError("weights_apart writes all weights to a file of their own: give either that or data")
        if weights_apart and weights_path(path) == Path(path):
            raise ValueError(f"'{os.fspath(path)}' is where the weights go: name the program .pte")
        kept = None if contract is None else contract.hold(self, weights_apart=weights_apart)
        paths = [weights_path(path), os.fspath(path)] if weights_apart else [os.fspath(path)]
        with ExitStack() as stack:
            if kept is not None:
                stack.enter_context(kept.written())
            files = stack.enter_context(atomic_files(*paths))
            self.write_to_file(files[-1], files[0] if weights_apart else None, data=data)
        return kept


def _places_given(module: ModuleOp) -> dict[str, bool]:
    """Options of `plan-memory`: whether the plans of a file place their inputs and outputs, or callers do."""
    from xir.dialects.pte import ExecutionPlanOp, TensorOp

    def is_placed(values: Iterable[SSAValue]) -> bool:
        tensors = [value.owner for value in values if isinstance(value.owner, TensorOp) and value.owner.data is None]
        return not tensors or any(tensor.allocation_info is not None for tensor in tensors)

    signatures = [plan.signature for plan in ops_in(module, ExecutionPlanOp)]
    return {
        "alloc_inputs": all(is_placed(each.inputs) for each in signatures),
        "alloc_outputs": all(is_placed(each.outputs) for each in signatures),
    }


def _texts(passes: Sequence[XirPass]) -> Iterator[str]:
    return map(str, passes)


def _add_constant_methods(module: ModuleOp, methods: Mapping[str, Sequence[int | float | str]]) -> None:
    """Add a plan for each to the one program of a module."""
    from xir.dialects.pte import ExecutionPlanOp, ProgramOp

    (program,) = (op for op in module.body.ops if isinstance(op, ProgramOp))
    for name, values in methods.items():
        program.body.block.add_op(ExecutionPlanOp.constant(name, values))


def _still_true(before: Sequence[Diagnostic], since: Sequence[Diagnostic], module: ModuleOp) -> Iterator[Diagnostic]:
    """The remarks of before, but those about ops that a backend has taken or refused anew since."""
    anew = {(remark.backend, remark.op, remark.location) for remark in since if isinstance(remark, NotDelegated)}
    outside = Counter((op.operator_name, op.location) for op in ops_in(module, EdgeOp))
    told: Counter[NotDelegated] = Counter()
    for remark in before:
        if isinstance(remark, NotDelegated):
            told[remark] += 1
            is_anew = (remark.backend, remark.op, remark.location) in anew
            if is_anew or told[remark] > outside[remark.op, remark.location]:
                continue
        yield remark


def _transform(
    module: ModuleOp,
    ctx: XirContext,
    passes: Sequence[XirPass],
    numerics: NumericsChecker | None,
    recorder: Recorder | None,
    remark_filter: RemarkFilter | None,
) -> tuple[ModuleOp, XirContext, list[Diagnostic]]:
    """Run passes on a copy of the module, verify what comes out, and collect the remarks."""
    remarks: list[Diagnostic] = []

    def keep_remark(diagnostic: Diagnostic) -> bool:
        if diagnostic.severity is not Severity.REMARK:
            return False
        remarks.append(diagnostic)
        return True

    original, ctx = module, ctx.clone()
    ctx.remark_filter = remark_filter
    manager = PassManager(ctx, passes, verify_each=False)
    if numerics is not None:
        numerics.attach(manager)
    if recorder is not None:
        recorder.attach(manager)
    with manager.paused_collection():
        module = clone_module(original)
        with ctx.diagnostics.handler(keep_remark):
            run_passes(manager, module, original=original)
        verify(module, ctx.verified)
    return module, ctx, remarks
