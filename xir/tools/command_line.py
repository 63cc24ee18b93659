"""What the command lines of all tools have in common. It is read before anything of the compiler is."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NoReturn

from xir.ir.shown_text import shortened


class UsageError(Exception):
    """The command line or a file it names is wrong; the message is for the user."""

    def __init__(self, message: str, *, command: str = ""):
        super().__init__(message)
        self.command = command
        """What the message ends in, to be run next: it is shown whole, however long it is."""

    def __str__(self) -> str:
        return shortened(super().__str__()) + self.command


def collect_garbage_rarely() -> None:
    """Look for cycles less often in this process, which compiles and ends.

    IR and torch's graphs make many objects and few cycles; to look after each 700 new ones, as Python does, took 7 to
    10 % of the time that xir-aot needs for MobileNetV2 and a vision transformer, and freed no memory.
    """
    gc.set_threshold(50_000, 20, 20)


QUANTIZE_WORDS = ("none", "int8", "static", "dynamic", "int4")
"""What --quantize takes, in every tool: int8 is static or dynamic, whichever suits the model."""


class ArgumentParser(argparse.ArgumentParser):
    """A parser that raises UsageError, and says for an unknown flag which one comes nearest."""

    given: Sequence[str] = ()
    """The arguments being read."""

    def error(self, message: str) -> NoReturn:
        """What is missing may be there, misspelt: argparse looks for unknown flags last."""
        raise UsageError(
            message + (self._misspelt() if message.endswith("required") or "required: " in message else "")
        )

    def _misspelt(self) -> str:
        known = {*self.flags()}
        names = (each for each in self.given if each.startswith("--") and each[2:].partition("=")[0] not in known)
        return next((f"; {each} is unknown{hint}" for each in names if (hint := self.hint(each))), "")

    def parse_args(self, arguments: Sequence[str] | None) -> argparse.Namespace:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The options that arguments (default: the process's) stand for."""
        arguments = self.given = sys.argv[1:] if arguments is None else arguments
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self.hint(unknown[0])}")
        return options

    def flags(self) -> Iterable[str]:
        """The flags that there are, without dashes; with commands, those of the one that was given."""
        named = [self]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                named += [parser for name, parser in action.choices.items() if name in self.given]
        return (flag.lstrip("-") for parser in named for flag in parser._option_string_actions)

    def hint(self, argument: str) -> str:
        """What to say of an argument that is unknown; "" for nothing."""
        if not argument.startswith("-"):
            return ""
        import difflib

        name, flags = argument.lstrip("-").partition("=")[0], [*self.flags()]
        begun = [flag for flag in flags if len(name) > 2 and flag.startswith(name)]
        close = begun if len(begun) == 1 else difflib.get_close_matches(name, flags, n=1, cutoff=0.8)
        return f"; did you mean '--{close[0]}'?" if close else ""


def add_pass_seconds(parser: Any, what: str) -> None:
    """Add the limit of time of each pass, to a parser or a group of one; `what` becomes of one that takes longer."""
    parser.add_argument(
        "--pass-seconds", type=_positive, metavar="S", help=f"{what} a pass after this many seconds (default: no limit)"
    )


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got '{text}'")
    return value


def add_run_limits(parser: argparse.ArgumentParser, goes_with: str = "") -> None:
    """Add what a `.pte` file that is run may do. `goes_with` names the flag that has the tool run one, for the help."""
    when = f"with {goes_with}: " if goes_with else ""
    parser.add_argument(
        "--allow-ops", metavar="NAMES",
        help=f"{when}further operators, or namespaces of torch.library, that the file may call through torch, "
        "separated by commas",
    )  # fmt: skip
    parser.add_argument(
        "--max-seconds", type=float, metavar="S",
        help=f"{when}stop an execution of a method after this many seconds (default: no limit)",
    )  # fmt: skip


def run_limits(options: argparse.Namespace) -> dict[str, Any]:
    """What the flags of `add_run_limits` are for `load_program`. UsageError for a limit that is no time."""
    seconds = options.max_seconds
    if seconds is not None and not seconds >= 0:
        raise UsageError(f"--max-seconds must be at least 0, not {seconds}")
    return {"allow_ops": [] if options.allow_ops is None else options.allow_ops.split(","), "max_seconds": seconds}
