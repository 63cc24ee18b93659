"""`xir-aot`, also `python -m xir.aot_compiler`: from a model to a `.pte` file, in one command."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from xir.files import size_text, weights_path
from xir.models.errors import ModelError
from xir.plugin_loading import PluginError, load_installed_plugins, load_named_plugins
from xir.progress import step
from xir.tools.aot.arguments import DEFAULT_CPU, parse_arguments, partitioners_of, threads_asked
from xir.tools.aot.contract import contract_of, tell_broken, wanted_remarks
from xir.tools.aot.existing import is_existing, optimize_file
from xir.tools.aot.exploration import Exploration
from xir.tools.aot.next_step import bisect_command_of
from xir.tools.aot.precision import LEAST_SQNR, precision_of
from xir.tools.aot.quantization import quantize_program
from xir.tools.aot.results import (
    arenas_found,
    forms_chosen,
    latency,
    print_results,
    refuse_missing_kernels,
    summary,
    who_runs_it,
)
from xir.tools.aot.running import run_file
from xir.tools.aot.source import load, model_of
from xir.tools.aot.tuning import tuned
from xir.tools.command_line import UsageError, collect_garbage_rarely
from xir.tools.devices import reachable_device
from xir.tools.missing_packages import missing_package
from xir.tools.remarks import RemarkOutput

if TYPE_CHECKING:
    from pathlib import Path

    from torch.export import ExportedProgram

    from xir.api import EdgeProgram, Partitioner
    from xir.evaluate import NumericsChecker
    from xir.explore import Recorder
    from xir.explore.profile import MethodProfile
    from xir.ir.diagnostics import DiagnosticError
    from xir.ir.remarks import RemarkFilter
    from xir.quantizer import QuantReport
    from xir.runtime.agreement import Agreement

NOISE_MARGIN = 3.0
"""The dB that a file may be worse than the quantised program in PyTorch and still have quantisation's noise: sums in
another order move some integers by one step."""


def main(argv: Sequence[str] | None = None, *, delegate: bool = True) -> int:
    """Run with the arguments (default: the process's), which need not say whether to `delegate`. Returns the exit code:
    1 on error, 70 on a bug."""
    if argv is None:
        collect_garbage_rarely()
    try:
        load_installed_plugins()
        arguments = load_named_plugins(sys.argv[1:] if argv is None else argv)
        if is_existing(arguments):
            return optimize_file(arguments)
        options = parse_arguments(arguments, delegate=delegate)
        return _compile(options, partitioners_of(options))
    except (UsageError, ModelError, PluginError, OSError) as error:
        print(f"xir-aot: error: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        print(f"xir-aot: error: {missing_package(error, 'compiling a model')}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("xir-aot: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-aot", sys.stderr)


def _compile(options: argparse.Namespace, partitioners: Sequence[Partitioner]) -> int:
    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError
    from xir.lock.errors import BrokenContractError
    from xir.tools.model_diagnostics import located

    path = options.output_dir
    device = reachable_device(options)
    quality: QuantReport | None = None
    profile = _profile(options)
    exploration = Exploration.of(options, profile)
    remarks = _remark_output(options)
    try:
        contract = contract_of(options)
        wanted = wanted_remarks(contract, None if remarks is None else remarks.filter)
        name, program = load(options)
        exact = program
        if options.quantize is not None:
            program, quality = quantize_program(options, program)
        if options.verify_numerics is not None:
            _verify_import(program)
        measured = None
        if options.tune is not None:
            partitioners, measured = tuned(options, program, partitioners, device)
        with step(f"Lowering {name}"):
            numerics = _numerics(options, program)
            recorder = None if exploration is None else exploration.recorder
            edge = _lower(program, partitioners, numerics, recorder, wanted, options.max_size)
            executorch = edge.to_executorch(
                debug_info=not options.strip_debug,
                numerics=numerics,
                recorder=recorder,
                remarks=wanted,
                memory_plan=options.memory_plan,
                solver_seconds=10.0 if options.solver_seconds is None else options.solver_seconds,
            )
        if options.only_stock_kernels:
            refuse_missing_kernels(executorch)
        expected = None if profile is None else latency(executorch, options.profile, profile)
        variant = "xnnpack" if options.delegate else "portable"
        precision = precision_of(options, program)
        path = _output_path(options.output_dir, f"{name}_{variant}_{precision}.pte")
        kept = None
        if contract is not None:
            contract = contract if quality is None else contract.with_accuracy(quality.metric)
            kept = contract.hold(executorch, weights_apart=options.weights_apart)
        with step(f"Writing {path}"), nullcontext() if kept is None else kept.written():
            path.parent.mkdir(parents=True, exist_ok=True)
            executorch.save(path, weights_apart=options.weights_apart)
        if exploration is not None:
            exploration.write(name, [*edge.remarks, *executorch.remarks], quality)
    except DiagnosticError as error:
        print(located(error.diagnostic, model_of(options)), file=sys.stderr)
        if options.verify_numerics is not None:
            _tell_next_step(error, options, partitioners)
        if exploration is not None:
            exploration.write_unfinished(error.diagnostic)
        return 1
    except BrokenContractError as error:
        tell_broken(error, path)
        return 1
    except AlreadyReportedError:
        return 1
    size = size_text(path.stat().st_size)
    if options.weights_apart:
        weights = weights_path(path)
        size += f" with {size_text(weights.stat().st_size)} of weights in {weights}"
    ran = run_file(path, exact, options, device) if options.test_after_export else None
    found, took = (None, None) if ran is None else (ran.agreement, ran.latency)
    facts = [f"{size}, {summary(edge, options)}", expected, found, took, who_runs_it(executorch)]
    lines = [] if measured is None else [measured]
    if options.delegate:
        lines += filter(None, [forms_chosen(edge.remarks, options.cpu or DEFAULT_CPU, threads_asked(options))])
    if options.memory_plan == "exact" and not options.report:
        lines += arenas_found(executorch)
    lines += [f"{path}: {fact}" for fact in facts if fact]
    lines += [] if kept is None else kept.lines()
    lines += [] if ran is None or ran.profile is None else [ran.profile.rstrip()]
    print_results(options, edge, executorch, lines, quality, remarks)
    least = LEAST_SQNR[precision] if options.test_sqnr is None else options.test_sqnr
    if found is None or (math.isfinite(found.difference) and found.sqnr >= least):
        return 0
    noise = None if options.quantize is None else _noise(program, exact)
    command = ""
    if noise is not None and noise.sqnr < found.sqnr + NOISE_MARGIN:
        next_step = (
            f"quantisation itself is {noise.sqnr:.1f} dB: --quantize-report names the layers, --min-sqnr and "
            "--max-drop leave the worst in float, and more of the data that it is for helps --calibration"
        )
    else:
        next_step, command = "to find out why, run ", bisect_command_of(options, partitioners)
    raise UsageError(
        f"{path}: {found.where} {found.sqnr:.1f} dB from PyTorch's, where {least:g} dB pass (--test-sqnr): {next_step}",
        command=command,
    )


def _output_path(given: Path, name: str) -> Path:
    """Where the file goes: into a folder under its own name, or what is itself called a `.pte` file."""
    return given if given.suffix == ".pte" and not given.is_dir() else given / name


def _profile(options: argparse.Namespace) -> MethodProfile | None:
    """The profile of --profile. OSError or UsageError if it cannot be read."""
    from xir.explore.profile import ProfileError, read_profile

    try:
        return None if options.profile is None else read_profile(options.profile)
    except ProfileError as error:
        raise UsageError(str(error)) from error


def _remark_output(options: argparse.Namespace) -> RemarkOutput | None:
    """What the flags for remarks ask for. UsageError for a filter that is none."""
    try:
        return RemarkOutput.of(options)
    except ValueError as error:
        raise UsageError(f"--remarks-filter: {error}") from error


def _verify_import(program: ExportedProgram) -> None:
    """WrongImportError if the program's module computes something else than PyTorch does."""
    from xir.evaluate.evaluator import NotEvaluatedError
    from xir.evaluate.imported import check_import

    with step("Comparing with PyTorch"), suppress(NotEvaluatedError):
        check_import(program)


def _tell_next_step(error: DiagnosticError, options: argparse.Namespace, partitioners: Sequence[Partitioner]) -> None:
    """Say how to find the rewrite of a pass that is wrong."""
    from xir.evaluate import MiscompileError

    if isinstance(error, MiscompileError):
        print(
            f"xir-aot: note: run {bisect_command_of(options, partitioners)} to find the rewrite, and a test of it",
            file=sys.stderr,
        )


def _numerics(options: argparse.Namespace, program: ExportedProgram) -> NumericsChecker | None:
    """What --verify-numerics asks for, on the program's example inputs if it has them."""
    if options.verify_numerics is None:
        return None
    from xir.evaluate import NumericsChecker
    from xir.runtime.agreement import example_values

    return NumericsChecker(example_values(program), options.verify_numerics)


def _lower(
    program: ExportedProgram,
    partitioners: Sequence[Partitioner],
    numerics: NumericsChecker | None,
    recorder: Recorder | None,
    remarks: RemarkFilter | None,
    max_size: int | None,
) -> EdgeProgram:
    from xir.api import to_edge

    edge = to_edge(program, max_size=max_size)
    for partitioner in partitioners:
        edge = edge.to_backend(partitioner, numerics=numerics, recorder=recorder, remarks=remarks)
    return edge


def _noise(quantized: ExportedProgram, exact: ExportedProgram) -> Agreement:
    """How far the quantised program is from the exact one in PyTorch, on its example inputs."""
    from xir.runtime.agreement import agreement_in_torch

    return agreement_in_torch(quantized, exact)


if __name__ == "__main__":
    sys.exit(main())
