"""The command line of `xir-aot`: its arguments, and what goes together."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.cost.processors import processors, table
from xir.cost.profile import shipped
from xir.models.zoo import MODELS
from xir.plugin_loading import PLUGIN_HELP
from xir.tools.command_line import QUANTIZE_WORDS, ArgumentParser, UsageError
from xir.tools.devices import add_device_options
from xir.transforms.registry import PassOption, describe_options

if TYPE_CHECKING:
    from xir.api import Partitioner, XnnpackPartitioner

DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""What --dtype and file names call the element types -> torch's name."""


def _argument_parser(*, delegate: bool) -> argparse.ArgumentParser:
    from xir.tools.remarks import add_arguments as add_remark_arguments

    parser = ArgumentParser(
        prog="xir-aot",
        description="Compile a model to a .pte file named after the model, and report what is not delegated. "
        "`xir-aot FILE.pte -o BETTER.pte` makes an existing file faster; see `xir-aot FILE.pte --help`.",
        allow_abbrev=False,
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-m", "--model_name", metavar="NAME", help=f"a model of the zoo: {', '.join(MODELS)}")
    source.add_argument(
        "--model",
        metavar="FILE.py:FACTORY",
        help="a function that returns (module, example inputs), optionally followed by a dict of keyword arguments and "
        "torch.export's dynamic shapes",
    )
    source.add_argument("--pt2", metavar="FILE", help="an exported program, from torch.export.save")
    add_source_options(parser)
    parser.add_argument(
        "-d", "--delegate", action=argparse.BooleanOptionalAction, default=delegate,
        help="delegate to XNNPACK the ops that it can compute (default, except for python -m xir.aot_compiler, which "
        "does as ExecuTorch's)",
    )  # fmt: skip
    parser.add_argument(
        "--report",
        action="store_true",
        help="print each undelegated op, and each float op of a quantised delegate, by reason and source line; and the "
        "arena of each method, how small it could be, and which tensors it is for",
    )
    parser.add_argument(
        "--report-json", metavar="FILE", help="write the report as JSON; - prints only the JSON to standard output"
    )
    parser.add_argument(
        "-o",
        "--output_dir",
        metavar="DIR",
        type=Path,
        default=Path("."),
        help="the folder for the file (default: the current one), or the file, if the name ends in .pte",
    )
    parser.add_argument(
        "-t",
        "--test_after_export",
        action="store_true",
        help="run the file on the example inputs, and fail if its outputs are too far from PyTorch's",
    )
    parser.add_argument(
        "--test-sqnr",
        metavar="DB",
        type=float,
        help="with --test_after_export: the least signal-to-noise ratio of each output that passes (default: 60 for "
        "fp32 and fp64, 20 for fp16 and bf16, 5 for quantised programs)",
    )
    add_device_options(parser, "with --test_after_export, run the file on, and with --tune, measure on")
    parser.add_argument(
        "--profile-trace",
        metavar="FILE",
        type=Path,
        help="with --test_after_export: profile some runs, on the device of --on, print where the time goes, and write "
        "it as a trace, which --profile reads",
    )
    parser.add_argument("--print", action="store_true", help="print the lowered program")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print a diagnostic for each op that stays outside or in float"
    )
    parser.add_argument(
        "--verify-numerics",
        metavar="RTOL",
        type=float,
        nargs="?",
        const=0.0,
        help="check after each pass that the program still computes the same on the example inputs, and fail at the "
        "first pass that changes it; a pass may move outputs by RTOL of their largest magnitude (default: 0), or by "
        "its own bound",
    )
    parser.add_argument(
        "--explore",
        metavar="FILE",
        type=Path,
        help="write an HTML page of the program after each pass, with its graph, source lines and costs",
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        help="the output of `xnn_executor_runner --profile-trace FILE` for an earlier compilation of the program: "
        "prints the expected latency, and adds times to the page of --explore",
    )
    parser.add_argument(
        "--only-stock-kernels",
        action="store_true",
        help="fail instead of writing a file with kernels that ExecuTorch's runtime lacks",
    )
    parser.add_argument(
        "--strip-debug",
        action="store_true",
        help="omit the source lines and modules of the file's parts; profiles and errors then lack them",
    )
    parser.add_argument(
        "--weights-apart",
        action="store_true",
        help="write the weights to a .ptd file next to the .pte file, with the same name; runtimes need both",
    )
    parser.add_argument(
        "--memory-plan",
        choices=("greedy", "exact"),
        default="greedy",
        help="exact: ask a solver for the smallest arena where the plan is above its lower bound, and print what it "
        "found; needs xir[solver] (default: greedy)",
    )
    parser.add_argument(
        "--solver-seconds",
        metavar="S",
        type=float,
        help="with --memory-plan exact: how long the solver may search, in steps that take a second or so: every run "
        "gives the same plan (default: 10)",
    )
    parser.add_argument(
        "--passes",
        metavar="PIPELINE",
        help="passes and pipelines to run on the imported program before the rest is delegated, named as in xir-opt: "
        "simplify,my-pass{option=2}",
    )
    parser.add_argument("--load-plugin", metavar="PLUGIN", action="append", help=PLUGIN_HELP)
    add_contract_options(parser)
    add_remark_arguments(parser)
    add_quantization_options(parser, with_reports=True)
    delegation = parser.add_argument_group("delegation", "Which ops --delegate takes. Lists are separated by commas.")
    add_partitioner_options(delegation)
    delegation.add_argument(
        "--cost-report",
        action="store_true",
        help="print the program's predicted time, node by node, by the cost profile of --cpu",
    )
    delegation.add_argument(
        "--tune",
        metavar="FILE.toml",
        type=Path,
        help="measure on this machine the fastest form of each convolution in the program, where the cost profile of "
        "--cpu cannot tell; the file keeps the results, which are not measured again",
    )
    delegation.add_argument(
        "--tune-seconds",
        metavar="S",
        type=float,
        help="start no measurement after S seconds; 0 uses only the file's results (default: 60)",
    )
    return parser


def add_partitioner_options(group: Any, names: Sequence[str] | None = None) -> None:
    """Add the options of `XnnpackPartitioner` to a parser or a group of it, all or those with these names."""
    for option in _partitioner_options():
        if names is not None and option.name.replace("-", "_") not in names:
            continue
        if option.type == "bool":
            action = argparse.BooleanOptionalAction
            group.add_argument(f"--{option.name}", action=action, default=None, help=option.help)
        elif option.name == "cpu":
            said = f"{option.help} Profiles are {', '.join(shipped())}; 'help' describes each."
            group.add_argument("--cpu", metavar="CPU", action=_CpuAction, help=said)
        else:
            group.add_argument(f"--{option.name}", metavar="VALUE", help=option.help)


def add_contract_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of contracts for builds."""
    group = parser.add_argument_group(
        "contract", "Conditions for the file. If they do not hold, nothing is written; see docs/lock.md."
    )
    group.add_argument(
        "--lock",
        metavar="FILE",
        type=Path,
        help="a text with the file's properties: delegates, kernels outside, layers, bytes, memory, accuracy (with "
        "--metric), predicted time (if --cpu is one processor). Written if it does not exist; otherwise fail if the "
        "file is worse",
    )
    group.add_argument(
        "--update-lock", action="store_true", help="accept all differences, and write the file of --lock anew"
    )
    group.add_argument(
        "--require",
        metavar="BOUNDS",
        help="fail unless bounds hold, separated by commas: 'delegates=1, outside=0, quantised>=95%%, bytes<=4MB'",
    )


DEFAULT_CPU = "generic"
"""The processors that forms are chosen for unless --cpu says it."""


class _CpuAction(argparse.Action):
    """`--cpu help` prints what there is, and ends."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        if values == "help":
            sys.stdout.write(table())
            parser.exit(0)
        setattr(namespace, self.dest, values)


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how a model becomes an exported program; the tools that look for faults take it as well."""
    parser.add_argument("--weights", metavar="FILE", help="a state dict for the zoo's model (default: random weights)")
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        help="convert the model and its floating-point inputs to this type first (default: as they are)",
    )
    parser.add_argument(
        "--max-batch", metavar="N", type=int, help="make the first dimension of all inputs dynamic, from 1 to N"
    )
    parser.add_argument(
        "--max-size",
        metavar="N",
        type=int,
        help="the bound of dimensions that were exported without one, such as Dim.AUTO",
    )


def source_flags(options: argparse.Namespace) -> list[str]:
    """Those of these options that were given, for another command line."""
    names = ("weights", "dtype", "max_batch", "max_size")
    given = {name: getattr(options, name) for name in names}
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]


class _QuantizeAction(argparse.Action):
    """Stores the word; None for none."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, None if values == "none" else values)


def add_quantization_options(parser: argparse.ArgumentParser, *, with_reports: bool = False) -> None:
    """Add what says how a model is quantised; the tools that look for faults take it as well."""
    group = parser.add_argument_group("quantisation", "Options of --quantize; docs/quantization.md has examples.")
    group.add_argument(
        "-q",
        "--quantize",
        action=_QuantizeAction,
        choices=QUANTIZE_WORDS,
        nargs="?",
        const="int8",
        help="compute on integers: 8 bits with calibrated (static) or run-time (dynamic) ranges of activations, or "
        "4-bit weights; int8 (without a value): static, or dynamic for the zoo's models that it suits; none: float "
        "(default)",
    )
    group.add_argument(
        "--calibration",
        metavar="FILE.py:FACTORY",
        help="a function that returns an iterable of inputs, each a tuple of positional arguments, a dict of keyword "
        "arguments or a pair of both; labels may follow, and are ignored "
        "(default: random ones for the zoo's models, the example inputs for others)",
    )
    group.add_argument(
        "--group-size",
        metavar="N",
        help="the number of inputs that share a 4-bit weight's scale, or 'channel' (default: 32)",
    )
    group.add_argument(
        "--quantize-effort",
        choices=("fast", "best"),
        help="fast: seconds to a minute; best: round weights of static layers so that their errors compensate for each "
        "other, which takes minutes for large models (default: fast)",
    )
    group.add_argument(
        "--keep-float",
        metavar="PATTERN",
        action="append",
        help="keep layers in float: a module's path, an operator such as aten.add, or a node's name; repeat for more",
    )
    group.add_argument(
        "--min-sqnr",
        metavar="DB",
        type=float,
        help="keep layers in float until each output reaches this signal-to-noise ratio",
    )
    if with_reports:
        group.add_argument(
            "--metric",
            metavar="FILE.py:FUNCTION",
            help="a function that takes the program, callable as the model is, and returns a number or a dict of "
            "numbers, the larger the better: printed for the float and the quantised program",
        )
        group.add_argument(
            "--max-drop",
            metavar="[NAME=]NUMBER",
            action="append",
            help="keep layers in float until the metric is at most this much below the float program's; with a name, "
            "that number of the dict; repeat for more",
        )
    if with_reports:
        group.add_argument(
            "--quantize-report",
            action="store_true",
            help="print how far each layer is from the float program, worst first",
        )
        group.add_argument("--quantize-report-json", metavar="FILE", help="write that table as JSON")


def quantization_flags(options: argparse.Namespace) -> list[str]:
    """Those of these options that were given, for another command line."""
    names = ("quantize", "quantize_effort", "calibration", "group_size", "min_sqnr")
    given = {name: getattr(options, name) for name in names}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return [*flags, *(f"--keep-float={pattern}" for pattern in options.keep_float or ())]


def _flag_of(source: str) -> str:
    """How a model of the user's is given; "" for what is none."""
    if source.endswith(".pt2"):
        return f"--pt2 {source}"
    if source.endswith(".py"):
        return f"--model {source}:FACTORY"
    return f"--model {source}" if ".py:" in source else ""


def parse_arguments(arguments: Sequence[str], *, delegate: bool = True) -> argparse.Namespace:
    """The options, of which `delegate` is a default. UsageError for one that is wrong, or useless beside the others."""
    first = arguments[0] if arguments else ""
    if not first.startswith("-") and (flag := _flag_of(first)):
        raise UsageError(f"'{first}' needs a flag before it: {flag}")
    options = _argument_parser(delegate=delegate).parse_args(arguments)
    if options.model_name and (flag := _flag_of(options.model_name)):
        raise UsageError(f"-m takes the name of a model of the zoo; for '{options.model_name}' it is {flag}")
    if options.weights and not options.model_name:
        raise UsageError("--weights goes with --model_name")
    if options.dtype and options.pt2:
        raise UsageError("--dtype goes with a model; an exported program has the type it was exported in")
    if options.max_batch is not None and options.pt2:
        raise UsageError("--max-batch goes with a model; what is dynamic in an exported program was said at export")
    if options.max_batch is not None and options.max_batch < 2:
        raise UsageError(f"--max-batch takes a number from 2 on, got {options.max_batch}")
    if options.max_size is not None and options.max_size < 1:
        raise UsageError(f"--max-size takes a number from 1 on, got {options.max_size}")
    if options.test_sqnr is not None and not options.test_after_export:
        raise UsageError("--test-sqnr says when --test_after_export fails: give that as well")
    if options.on is not None and not options.test_after_export and options.tune is None:
        raise UsageError("--on says where --test_after_export runs the file, and --tune measures: give one of them")
    if options.profile_trace is not None and not options.test_after_export:
        raise UsageError("--profile-trace profiles what --test_after_export runs: give that as well")
    if (options.report or options.report_json) and not options.delegate:
        raise UsageError("a report says what delegates leave out, and there are none: give --delegate")
    if options.cost_report and not options.delegate:
        raise UsageError("a cost report predicts what delegates take, and there are none: give --delegate")
    if options.cost_report and _profiles(options) != 1:
        known = ", ".join(("native", *shipped()))
        raise UsageError(f"--cost-report predicts for one processor: --cpu {known}, or a .toml file of xir-tune")
    if options.solver_seconds is not None:
        if options.memory_plan != "exact":
            raise UsageError("--solver-seconds limits the solver of --memory-plan exact: give that as well")
        if not 0 < options.solver_seconds < math.inf:
            raise UsageError(f"--solver-seconds takes a number above 0, got {options.solver_seconds:g}")
    _check_tuning(options)
    _check_quantization(options)
    return options


def _profiles(options: argparse.Namespace) -> int:
    """How many profiles --cpu names. UsageError for what names none and is no name."""
    try:
        return len(processors(options.cpu or DEFAULT_CPU).profiles)
    except ValueError as error:
        raise UsageError(f"--cpu: {error}") from error


def threads_asked(options: argparse.Namespace) -> int:
    """The number of threads that the file is meant for; 0 if that is not said."""
    return int(options.threads or 0)


def _check_tuning(options: argparse.Namespace) -> None:
    if options.tune is None:
        if options.tune_seconds is not None:
            raise UsageError("--tune-seconds says how long --tune may measure: give that as well")
        return
    if not options.delegate:
        raise UsageError("--tune measures what delegates take, and there are none: give --delegate")
    if not _profiles(options):
        known = ", ".join(("native", *shipped()))
        raise UsageError(f"--tune measures what a cost profile leaves open: --cpu {known}, or a .toml file of xir-tune")
    if options.tune.suffix != ".toml" or not options.tune.parent.is_dir():
        raise UsageError(f"--tune takes a .toml file in a folder that exists, got '{options.tune}'")
    if options.tune_seconds is not None and not options.tune_seconds >= 0:
        raise UsageError(f"--tune-seconds takes a number from 0 on, got {options.tune_seconds}")


def _check_quantization(options: argparse.Namespace) -> None:
    if options.quantize == "int8":
        is_dynamic = options.model_name in MODELS and MODELS[options.model_name].dynamic
        options.quantize = "dynamic" if is_dynamic else "static"
    names = ("quantize_effort", "calibration", "group_size", "keep_float", "min_sqnr", "metric", "max_drop")
    names = (*names, "quantize_report", "quantize_report_json")
    given = [name for name in names if getattr(options, name) not in (None, False)]
    if given and options.quantize is None:
        raise UsageError(f"--{given[0].replace('_', '-')} says how to quantise: give --quantize as well")
    if options.quantize is not None and options.dtype not in (None, "fp32"):
        raise UsageError("--quantize takes float32 models: leave --dtype out")
    if options.max_drop and not options.metric:
        raise UsageError("--max-drop bounds what a metric loses: give --metric as well")
    if options.group_size is not None and options.quantize != "int4":
        raise UsageError("--group-size goes with --quantize=int4")


def _partitioner_options() -> Sequence[PassOption]:
    """The options of `XnnpackPartitioner`, which are flags here, but for `choices`: that is --tune."""
    from xir.api import XnnpackPartitioner

    return [option for option in describe_options(XnnpackPartitioner) if option.name != "choices"]


def partitioners_of(options: argparse.Namespace) -> list[Partitioner]:
    """What --passes asks for, and then what --delegate and its options do. UsageError for what is wrong in them."""
    from xir.api import PipelinePartitioner
    from xir.ir.diagnostics import DiagnosticError

    xnnpack = _xnnpack_partitioner(options)
    try:
        others = [] if options.passes is None else [PipelinePartitioner(options.passes)]
    except DiagnosticError as error:
        raise UsageError(f"--passes: {error.diagnostic.message}") from error
    return [*others, *([] if xnnpack is None else [xnnpack])]


def _xnnpack_partitioner(options: argparse.Namespace) -> XnnpackPartitioner | None:
    """What --delegate and its options ask for; None without --delegate."""
    given = _given_options(options)
    if not options.delegate:
        if given:
            raise UsageError(f"--{next(iter(given))} says what delegates take, and there are none: give --delegate")
        return None
    return _partitioner(given, "--delegate")


def partitioner_of(options: argparse.Namespace) -> XnnpackPartitioner:
    """The partitioner with those of its options that there are. UsageError for what is wrong in them."""
    return _partitioner(_given_options(options), "xir-aot")


def _given_options(options: argparse.Namespace) -> dict[str, str]:
    """The partitioner's options on a command line, as text."""
    flags = {option.name: getattr(options, option.name.replace("-", "_"), None) for option in _partitioner_options()}
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in flags.items()
        if value is not None
    }


def _partitioner(given: dict[str, str], where: str) -> XnnpackPartitioner:
    from xir.api import XnnpackPartitioner
    from xir.ir.options import values_of

    try:
        return XnnpackPartitioner(**values_of(XnnpackPartitioner, given, where))
    except ValueError as error:
        raise UsageError(str(error)) from error
