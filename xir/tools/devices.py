"""`--on DEVICE` and what belongs to it, for the commands that run programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from xir.device.errors import DeviceError
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
        dest="device_program",
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


def device_files(options: argparse.Namespace) -> dict[str, Path | None]:
    """The files for a device, by their flags."""
    return {"--program": options.device_program, "--xnnpack": options.xnnpack}


def reachable_device(options: argparse.Namespace) -> Transport | None:
    """The device of `--on`; None without it. UsageError if it is none or does not answer: before minutes of work."""
    if options.on is None:
        for flag, path in device_files(options).items():
            if path is not None:
                raise UsageError(f"{flag} is a file for a device: give --on as well")
        return None
    device = device_of(options)
    try:
        device.open().close()
    except DeviceError as error:
        raise UsageError(f"--on: {error}") from error
    return device


def device_of(options: argparse.Namespace) -> Transport:
    """The device of the command line. UsageError for what is none, and for files that do not exist."""
    for flag, path in device_files(options).items():
        if path is not None and not path.is_file():
            raise UsageError(f"{flag}: there is no file '{path}'")
    try:
        return transport(options.on or "local", options.device_program, options.xnnpack)
    except ValueError as error:
        raise UsageError(f"--on: {error}") from error
