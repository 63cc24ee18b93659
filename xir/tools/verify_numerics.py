"""`--verify-numerics` and `--inputs`, which several tools have."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from xir.tools.command_line import UsageError
from xir.tools.missing_packages import missing_package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from xir.ir.passes import PassManager


def add_arguments(group: argparse._ArgumentGroup) -> None:  # pyright: ignore[reportPrivateUsage]
    """Add both flags."""
    group.add_argument(
        "--verify-numerics", type=float, metavar="RTOL",
        help="evaluate the module after each pass that changed it, and fail at the first pass that changes its "
        "results; a pass may move outputs by RTOL of their largest magnitude (default: 0), or by its own bound",
    )  # fmt: skip
    group.add_argument(
        "--inputs", metavar="FILES",
        help="the inputs of --verify-numerics: a .npy file for each input, separated by commas, or one .npz or .pt "
        "file (default: random)",
    )  # fmt: skip


def verify_numerics(manager: PassManager, options: argparse.Namespace, module: ModuleOp) -> None:
    """Let the manager check what each pass computes, if that is asked for. UsageError for inputs that do not fit."""
    if options.verify_numerics is None:
        if options.inputs is not None:
            raise UsageError("--inputs goes with --verify-numerics")
        return
    try:
        from xir.evaluate.checker import NumericsChecker
        from xir.evaluate.inputs import load_inputs
        from xir.ir.functions import functions_of
    except ModuleNotFoundError as error:
        raise UsageError(missing_package(error, "--verify-numerics")) from error

    inputs = None
    if options.inputs is not None and (functions := functions_of(module)):
        try:
            inputs = load_inputs(options.inputs.split(","), functions[0])
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the inputs: {error}") from error
    NumericsChecker(inputs, options.verify_numerics).attach(manager)
