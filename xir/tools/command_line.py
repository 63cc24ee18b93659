"""What the command lines of all tools have in common. It is read before anything of the compiler is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NoReturn


class UsageError(Exception):
    """The command line or a file it names is wrong; the message is for the user."""


class ArgumentParser(argparse.ArgumentParser):
    """A parser that raises UsageError, and says for an unknown flag which one comes nearest."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def parse_args(self, arguments: Sequence[str]) -> argparse.Namespace:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The options that arguments stand for."""
        options, unknown = self.parse_known_args(arguments)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint(unknown[0])}")
        return options

    def flags(self) -> Iterable[str]:
        """The flags that there are, without dashes."""
        return (flag.lstrip("-") for flag in self._option_string_actions)

    def _hint(self, argument: str) -> str:
        if not argument.startswith("-"):
            return ""
        import difflib

        close = difflib.get_close_matches(argument.lstrip("-").partition("=")[0], [*self.flags()], n=1)
        return f"; did you mean '--{close[0]}'?" if close else ""
