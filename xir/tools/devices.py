"""`--on DEVICE` and what belongs to it, for the commands that run programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from xir.device.transports import Transport, transport
from xir.tools.command_line import UsageError


def add_device_options(parser: argparse.ArgumentParser, doing: str) -> None:
    """The options, of which the first one says what is done on the device."""
    parser.add_argument(
        "--on",
        metavar="DEVICE",
        help=f"{doing} this device: local (default), ssh:host, adb:serial, or a command that starts its "
        "xnn_executor_runner (docs/device_protocol.md)",
    )
    parser.add_argument(
        "--program",
        metavar="FILE",
        type=Path,
        help="with --on: the xnn_executor_runner for the device (default: xir's)",
    )
    parser.add_argument(
        "--xnnpack",
        metavar="FILE",
        type=Path,
        help="with --on: the library with XNNPACK for that program, unless it has XNNPACK inside",
    )


def device_of(options: argparse.Namespace) -> Transport:
    """The device of the command line. UsageError for what is none, and for files that do not exist."""
    for name in ("program", "xnnpack"):
        path = getattr(options, name)
        if path is not None and not path.is_file():
            raise UsageError(f"--{name}: there is no file '{path}'")
    try:
        return transport(options.on or "local", options.program, options.xnnpack)
    except ValueError as error:
        raise UsageError(f"--on: {error}") from error
