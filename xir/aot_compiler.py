"""`xir-aot`, also `python -m xir.aot_compiler`: from a model to a `.pte` file, in one command."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import logging
import math
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from xir.files import atomic_file
from xir.models.zoo import MODELS, ModelError
from xir.plugin_loading import PLUGIN_HELP, PluginError, load_installed_plugins, load_named_plugins
from xir.progress import step
from xir.transforms.registry import PassOption, describe

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xir.api import EdgeProgram, ExecutorchProgram, XnnpackPartitioner
    from xir.quantizer import QuantReport
    from xir.runtime.agreement import Agreement


DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""What --dtype and file names call the element types -> torch's name."""


class UsageError(Exception):
    """The command line is wrong; the message is for the user."""


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _argument_parser() -> argparse.ArgumentParser:
    parser = _ArgumentParser(
        prog="xir-aot",
        description="Compile a model to a .pte file, which is named after the model, and print the lowered program.",
        allow_abbrev=False,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-m", "--model_name", metavar="NAME", help=f"a model of the zoo: {', '.join(MODELS)}")
    source.add_argument(
        "--model",
        metavar="FILE.py:FACTORY",
        help="a function that returns (module, example inputs), or with torch.export's dynamic shapes behind them",
    )
    source.add_argument("--pt2", metavar="FILE", help="an exported program, from torch.export.save")
    parser.add_argument("--weights", metavar="FILE", help="a state dict for the zoo's model (default: random weights)")
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        help="convert the model and its floating-point inputs to this type first (default: as they are)",
    )
    parser.add_argument(
        "--max-batch", metavar="N", type=int, help="let the first dimension of all inputs be anything from 1 to N"
    )
    parser.add_argument("-d", "--delegate", action="store_true", help="run on XNNPACK what it can compute")
    parser.add_argument(
        "--report",
        action="store_true",
        help="print the ops outside the delegate, and those in float in a quantised one, by reason and line",
    )
    parser.add_argument("--report-json", metavar="FILE", help="write that table as JSON; - for standard output alone")
    parser.add_argument(
        "-o", "--output_dir", metavar="DIR", type=Path, default=Path("."), help="default: the current one"
    )
    parser.add_argument(
        "-t",
        "--test_after_export",
        action="store_true",
        help="run the file, and tell how far its outputs are from PyTorch's on the example inputs",
    )
    parser.add_argument(
        "--strip-debug",
        action="store_true",
        help="leave out which source lines and modules the file's parts come from; profiles and errors lack them then",
    )
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    _add_quantization(parser)
    delegation = parser.add_argument_group("delegation", "Which ops --delegate takes. Lists are separated by commas.")
    for option in _partition_options():
        if option.type == "bool":
            action = argparse.BooleanOptionalAction
            delegation.add_argument(f"--{option.name}", action=action, default=None, help=option.help)
        else:
            delegation.add_argument(f"--{option.name}", metavar="VALUE", help=option.help)
    delegation.add_argument(
        "--cpu",
        choices=("any", "x86"),
        help="the processors that the file is for, where the fastest nodes differ; it runs on all (default: any)",
    )
    return parser


def _add_quantization(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("quantisation", "What --quantize does; docs/quantization.md has examples.")
    group.add_argument(
        "-q",
        "--quantize",
        choices=("auto", "static", "dynamic", "int4"),
        nargs="?",
        const="auto",
        help="compute on integers: int8 with calibrated (static) or run-time (dynamic) ranges of activations, or 4-bit "
        "weights; auto, the default: what suits the zoo's model, static for others",
    )
    group.add_argument(
        "--calibration",
        metavar="FILE.py:FACTORY",
        help="a function that returns an iterable of inputs; default: random ones for the zoo's models, the example "
        "inputs for others",
    )
    group.add_argument(
        "--group-size", metavar="N", help="inputs that share a 4-bit weight's scale, or 'channel' (default: 32)"
    )
    group.add_argument(
        "--keep-float",
        metavar="PATTERN",
        action="append",
        help="leave layers in float: a module's path, an operator such as aten.add, or a node's name; repeat for more",
    )
    group.add_argument(
        "--min-sqnr", metavar="DB", type=float, help="leave the worst layers in float until the outputs are this good"
    )
    group.add_argument(
        "--quant-report", action="store_true", help="print how far each layer is from the float program, worst first"
    )
    group.add_argument("--quant-report-json", metavar="FILE", help="write that table as JSON")


def _check_quantization(options: argparse.Namespace) -> None:
    names = ("calibration", "group_size", "keep_float", "min_sqnr", "quant_report", "quant_report_json")
    given = [name for name in names if getattr(options, name) not in (None, False)]
    if given and options.quantize is None:
        raise UsageError(f"--{given[0].replace('_', '-')} says how to quantise: give --quantize as well")
    if options.quantize is not None and options.dtype not in (None, "fp32"):
        raise UsageError("--quantize takes float32 models: leave --dtype out")
    if options.group_size is not None and options.quantize != "int4":
        raise UsageError("--group-size goes with --quantize=int4")


def _partition_options() -> Sequence[PassOption]:
    """The options of `partition-xnnpack`, which are flags here."""
    return describe("partition-xnnpack").options


def _partitioner(options: argparse.Namespace) -> XnnpackPartitioner | None:
    """What --delegate and its options ask for; None without --delegate."""
    flags = {option.name: getattr(options, option.name.replace("-", "_")) for option in _partition_options()}
    given = {
        name: str(value).lower() if value in (True, False) else value
        for name, value in flags.items()
        if value is not None
    }
    if not options.delegate:
        if options.cpu is not None:
            given["cpu"] = options.cpu
        if given:
            raise UsageError(f"--{next(iter(given))} says what --delegate takes: give that as well")
        return None
    from xir.api import XnnpackPartitioner
    from xir.transforms.xnnpack.partition_xnnpack import PartitionXnnpackPass

    try:
        partition = PartitionXnnpackPass.from_options(given)
        return XnnpackPartitioner(**dataclasses.asdict(partition), cpu=options.cpu or "any")
    except ValueError as error:
        raise UsageError(str(error)) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Run with the arguments (default: the process's). Returns the exit code; 1 after any error."""
    try:
        load_installed_plugins()
        arguments = load_named_plugins(sys.argv[1:] if argv is None else argv)
        options = _argument_parser().parse_args(arguments)
        if options.weights and not options.model_name:
            raise UsageError("--weights goes with --model_name")
        if options.dtype and options.pt2:
            raise UsageError("--dtype goes with a model; an exported program has the type it was exported in")
        if options.max_batch is not None and options.pt2:
            raise UsageError("--max-batch goes with a model; what is dynamic in an exported program was said at export")
        if options.max_batch is not None and options.max_batch < 2:
            raise UsageError(f"--max-batch takes a number from 2 on, got {options.max_batch}")
        if (options.report or options.report_json) and not options.delegate:
            raise UsageError("a report says what --delegate leaves out: give that as well")
        _check_quantization(options)
        return _compile(options, _partitioner(options))
    except (UsageError, ModelError, PluginError, OSError) as error:
        print(f"xir-aot: error: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "torchvision", "torchao"):
            raise
        print(
            f"xir-aot: error: '{error.name}' is not installed: compiling a model needs xir[importer]", file=sys.stderr
        )
        return 1


def _compile(options: argparse.Namespace, partitioner: XnnpackPartitioner | None) -> int:
    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError

    quality: QuantReport | None = None
    try:
        name, program = _load(options)
        exact = program
        if options.quantize is not None:
            program, quality = _quantize(options, program)
        with step(f"Lowering {name}"):
            edge = _lower(program, partitioner)
            executorch = edge.to_executorch(debug_info=not options.strip_debug)
        variant = "xnnpack" if options.delegate else "portable"
        precision = _PRECISIONS.get(options.quantize or "") or options.dtype or _type_of(program)
        path = options.output_dir / f"{name}_{variant}_{precision}.pte"
        with step(f"Writing {path}"):
            _write(path, executorch.write_to_file)
    except DiagnosticError as error:
        print(error.diagnostic, file=sys.stderr)
        return 1
    except AlreadyReportedError:
        return 1
    size = f"{path.stat().st_size / 1e6:.2f} MB"
    last_line = f"{path}: {size}, {_summary(edge, options)}{_python_only(executorch)}"
    found = _test(path, exact) if options.test_after_export else None
    if found is not None:
        last_line += f"\n{path}: {found}"
    _print_results(options, edge, executorch, last_line, quality)
    return 0 if found is None or math.isfinite(found.difference) else 1


def _test(path: Path, program: ExportedProgram) -> Agreement:
    """Run the file, and compare its outputs with those of the program as it was before quantisation."""
    from xir.runtime import XirRuntimeError
    from xir.runtime.agreement import agreement

    try:
        with step(f"Running {path}"):
            return agreement(path, program)
    except (XirRuntimeError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


_PRECISIONS = {"static": "q8", "dynamic": "q8", "int4": "q4"}
"""How a file's name calls what a quantised program computes on."""


def _quantize(options: argparse.Namespace, program: ExportedProgram) -> tuple[ExportedProgram, QuantReport | None]:
    """The quantised program, and its report where one was asked for."""
    from xir.quantizer import QuantConfig, quantize, quantize_and_measure

    if options.quantize == "auto":
        dynamic = bool(options.model_name) and MODELS[options.model_name].dynamic
        options.quantize = "dynamic" if dynamic else "static"
    try:
        config = QuantConfig(
            options.quantize,
            group_size=_group_size(options.group_size),
            keep_float=tuple(options.keep_float or ()),
            min_sqnr=options.min_sqnr,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    if program.example_inputs is None:
        raise UsageError("the program was saved without example inputs: export it again")
    inputs, calibration = program.example_inputs[0], _calibration(options)
    if not (options.quant_report or options.quant_report_json):
        return quantize(program, inputs, calibration, config), None
    return quantize_and_measure(program, inputs, calibration, config)


def _group_size(text: str | None) -> int | None:
    """What --group-size says: the number, None for a group for each channel."""
    if text == "channel":
        return None
    try:
        return 32 if text is None else int(text)
    except ValueError:
        raise UsageError(f"--group-size takes a number or 'channel', not '{text}'") from None


def _calibration(options: argparse.Namespace) -> Iterable[Any] | None:
    """The inputs that ranges come from; None for the example inputs."""
    if options.calibration:
        name, function = _function(options.calibration, "--calibration")
        return _guarded(_called(name, function), name)
    if options.weights and options.quantize == "static":
        print(
            "xir-aot: note: ranges of activations come from random inputs: give --calibration for real ones",
            file=sys.stderr,
        )
    if not options.model_name or options.max_batch is not None:
        return None
    from xir.models import calibration_inputs

    return calibration_inputs(options.model_name)


def _guarded(inputs: Any, name: str) -> Any:
    """An iterable whose errors are the user's; what is none is left for the quantizer to say so."""
    from torch import Tensor

    if isinstance(inputs, Tensor) or not isinstance(inputs, Iterable):
        return inputs

    def each() -> Iterator[Any]:
        values = iter(inputs)
        while True:
            try:
                value = next(values)
            except StopIteration:
                return
            except Exception as error:
                raise UsageError(f"'{name}' failed: {type(error).__name__}: {error}") from error
            yield value

    return each()


def _print_results(
    options: argparse.Namespace,
    edge: EdgeProgram,
    executorch: ExecutorchProgram,
    last_line: str,
    quality: QuantReport | None,
) -> None:
    """The lowered program, what it leaves out, and the last line; all but the JSON to stderr if that goes to stdout."""
    from xir.report import IN_TABLES, report_of

    report = report_of(edge.remarks)
    for remark in (*edge.remarks, *executorch.remarks):
        if not (options.report and isinstance(remark, IN_TABLES)):
            print(remark, file=sys.stderr)
    if options.report_json and options.report_json != "-":
        _write(Path(options.report_json), lambda file: file.write(report.json().encode("utf-8")))
    text = sys.stderr if options.report_json == "-" else sys.stdout
    if options.report_json == "-":
        sys.stdout.write(report.json())
    else:
        print(edge.module)
    if options.report:
        print(report.text(), file=text)
    if quality is not None and options.quant_report_json:
        _write(Path(options.quant_report_json), lambda file: file.write(quality.json().encode("utf-8")))
    if quality is not None and options.quant_report:
        print(quality.text(), file=text)
    print(last_line, file=text)


def _load(options: argparse.Namespace) -> tuple[str, ExportedProgram]:
    """The model's name and its exported program."""
    if options.pt2:
        with step(f"Loading {options.pt2}"):
            from xir.importer import load_pt2

            return Path(options.pt2).stem, load_pt2(options.pt2)
    if options.model_name:
        name = options.model_name
        with step(f"Loading {name}"):
            from xir.models import load_model

            model, inputs = load_model(name, options.weights)
            shapes = None
    else:
        with step(f"Loading {options.model}"):
            name, model, inputs, shapes = _call_factory(options.model)
    if options.dtype:
        model, inputs = _converted(model, inputs, options.dtype)
    with step(f"Exporting {name}"):
        return name, _export(name, model, tuple(inputs), shapes, options.max_batch)


def _converted(model: Any, inputs: Any, dtype: str) -> tuple[Any, Any]:
    """The model and its floating-point inputs in another element type."""
    import torch
    from torch.utils import _pytree as pytree

    element = getattr(torch, DTYPES[dtype])

    def convert(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(element) if tensor.is_floating_point() else tensor

    return model.to(element), pytree.tree_map_only(torch.Tensor, convert, inputs)


def _type_of(program: ExportedProgram) -> str:
    """The name of the type that all floating-point weights have; fp32 if they differ or there are none."""
    names = {
        str(tensor.dtype).removeprefix("torch.") for tensor in program.state_dict.values() if tensor.is_floating_point()
    }
    return next((short for short, name in DTYPES.items() if names == {name}), "fp32")


def _export(name: str, model: Any, inputs: tuple[Any, ...], shapes: Any, max_batch: int | None) -> ExportedProgram:
    """Export a model, with its dynamic shapes or those that --max-batch stands for."""
    import torch
    from torch.utils import _pytree as pytree

    if max_batch is not None:
        if shapes is not None:
            raise UsageError(f"'{name}' says itself what is dynamic: leave --max-batch out")
        # Export takes a size of 1 for one that stays 1.
        inputs = pytree.tree_map_only(torch.Tensor, lambda x: torch.cat([x[:1]] * 2) if x.dim() else x, inputs)
        batch = torch.export.Dim("batch", max=max_batch)
        shapes = pytree.tree_map(lambda x: {0: batch} if isinstance(x, torch.Tensor) and x.dim() else None, inputs)
    try:
        with _no_logs():
            return torch.export.export(model, inputs, dynamic_shapes=shapes)
    except Exception as error:
        first, *rest = str(error).strip().splitlines() or [type(error).__name__]
        reason = " ".join([first, *(line.strip(" -") for line in rest if line.startswith("  - "))])
        how = "" if shapes is None else " with these dynamic shapes"
        raise UsageError(f"'{name}' does not export{how}: {reason}") from error


@contextmanager
def _no_logs() -> Generator[None]:
    """Nothing is logged meanwhile: torch writes a traceback of each operator that fails, which is said anyway."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _function(reference: str, option: str) -> tuple[str, Callable[[], Any]]:
    """Name and function of `path.py:function`."""
    file, colon, name = reference.rpartition(":")
    if not colon or not file:
        raise UsageError(f"{option} takes FILE.py:FACTORY, got '{reference}'")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file) if Path(file).is_file() else None
    if spec is None or spec.loader is None:
        raise UsageError(f"'{file}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(function := getattr(module, name, None)):
        raise UsageError(f"'{file}' has no function '{name}'")
    return name, function


def _called(name: str, function: Callable[[], Any]) -> Any:
    """What a function of the user's returns; UsageError if it fails."""
    try:
        return function()
    except Exception as error:
        raise UsageError(f"'{name}' failed: {type(error).__name__}: {error}") from error


def _call_factory(reference: str) -> tuple[str, Any, Any, Any]:
    """`path.py:factory`: its name, and the module, example inputs and dynamic shapes, if any, that it returns."""
    factory, function = _function(reference, "--model")
    result = _called(factory, function)
    if not isinstance(result, tuple) or len(result) not in (2, 3):
        raise UsageError(
            f"'{factory}' has to return a module and a tuple of example inputs, or the dynamic shapes as well"
        )
    model, inputs, *shapes = result
    return factory, model.eval(), inputs, shapes[0] if shapes else None


def _lower(program: ExportedProgram, partitioner: XnnpackPartitioner | None) -> EdgeProgram:
    from xir.api import to_edge

    edge = to_edge(program)
    return edge if partitioner is None else edge.to_backend(partitioner)


def _summary(edge: EdgeProgram, options: argparse.Namespace) -> str:
    """How much of the program is delegated."""
    from xir.dialects.delegate import GraphOp
    from xir.dialects.edge import EdgeOp
    from xir.transforms.delegate._groups import computes_sizes

    ops = [op for op in edge.module.walk() if not computes_sizes(op)]
    delegates, outside = (sum(isinstance(op, kind) for op in ops) for kind in (GraphOp, EdgeOp))
    counted = [f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in ((delegates, "delegate"), (outside, "op"))]
    if not options.delegate:
        return f"{counted[1]}, none delegated"
    if not outside:
        return f"{counted[0]}, nothing outside"
    advice = "" if options.report else ", run --report"
    return f"{counted[0]}, {counted[1]} outside the delegate{'' if delegates == 1 else 's'}{advice}"


def _python_only(program: ExecutorchProgram) -> str:
    """Which operators of the program the native runner cannot run; nothing if it runs all of them."""
    from xir.runtime import portable_kernels

    missing = [name for name in program.kernel_names if name not in portable_kernels()]
    return f"; only Python runs {', '.join(missing)}" if missing else ""


def _write(path: Path, write: Callable[[BinaryIO], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        write(file)


if __name__ == "__main__":
    sys.exit(main())
