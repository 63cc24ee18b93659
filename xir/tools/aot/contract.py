"""`--lock`, `--update-lock` and `--require`: what a build is held to, before anything is written."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xir.tools.aot.arguments import DEFAULT_CPU
from xir.tools.command_line import UsageError

if TYPE_CHECKING:
    from xir.ir.remarks import RemarkFilter
    from xir.lock.contract import Contract
    from xir.lock.errors import BrokenContractError


def contract_of(options: argparse.Namespace) -> Contract | None:
    """The contract that the flags ask for; None if there are none of them.

    UsageError for bounds that are none, and DiagnosticError for a lock that is none.
    """
    if options.update_lock and options.lock is None:
        raise UsageError("--update-lock writes the file of --lock: give that as well")
    if options.lock is None and options.require is None:
        return None
    from xir.cost.processors import processors
    from xir.lock.contract import Contract

    if options.require is not None and not options.require.strip():
        raise UsageError("--require takes bounds, such as 'outside=0, bytes<=4MB'")
    if options.lock is not None and not options.lock.parent.is_dir():
        raise UsageError(f"--lock takes a file in a folder that exists, got '{options.lock}'")
    cpu = options.cpu or DEFAULT_CPU
    try:
        is_one = len(processors(cpu).profiles) == 1
    except ValueError as error:
        raise UsageError(f"--cpu: {error}") from error
    try:
        return Contract(options.lock, options.require or "", options.update_lock, cpu if is_one else None)
    except ValueError as error:
        raise UsageError(f"--require: {error}") from error


def wanted_remarks(contract: Contract | None, asked: RemarkFilter | None) -> RemarkFilter | None:
    """The remarks that passes have to make: those that were asked for, and those that say why a build is worse."""
    if contract is None or contract.held is None:
        return asked
    from xir.ir.remarks import RemarkFilter
    from xir.lock.causes import REMARKS

    return replace(asked or RemarkFilter(), missed=REMARKS.missed, failed=REMARKS.failed)


def tell_broken(error: BrokenContractError, path: Path) -> None:
    """Print what does not hold, a line each, and what became of the file."""
    for line in error.lines:
        print(line, file=sys.stderr)
    accept = "; --update-lock accepts what is worse than the lock" if error.is_worse else ""
    count = "1 fact does" if len(error.lines) == 1 else f"{len(error.lines)} facts do"
    print(f"xir-aot: error: {path}: {count} not hold, nothing is written{accept}", file=sys.stderr)
