"""A process that answers lines by lines, of which it may do neither."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence

from xir.device.errors import DeviceError, LostConnectionError

BLOCK = 1 << 16
LONGEST_ANSWER = 256 << 20
KEPT_COMPLAINTS = 2000
"""Bytes of standard error of which the last line is shown."""


class Connection:
    """A command, its standard input and its standard output."""

    def __init__(self, device: str, command: Sequence[str]):
        """Start the command. DeviceError if there is none of this name."""
        self.device = device
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise DeviceError(f"{device}: cannot start '{command[0]}': {error.strerror}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._errors = self._process.stderr.fileno()
        for each in (self._input, self._output, self._errors):
            os.set_blocking(each, False)
        self._received = bytearray()
        self._complaints = bytearray()
        self._has_ended = self._errors_ended = False

    def exchange(self, line: bytes, seconds: float, doing: str) -> bytes:
        """Send a line, without its end, and return the next one that comes. LostConnectionError if none comes in time,
        or the process ends; `doing` says in the message what it was asked for."""
        return self._next(memoryview(line + b"\n"), seconds, doing)

    def next(self, seconds: float, doing: str) -> bytes:
        """One more line, as `exchange` returns them."""
        return self._next(memoryview(b""), seconds, doing)

    def _next(self, left: memoryview, seconds: float, doing: str) -> bytes:
        end = time.monotonic() + seconds
        while True:
            if not left and (at := self._received.find(b"\n")) >= 0:
                answer = bytes(self._received[:at])
                del self._received[: at + 1]
                return answer
            if self._has_ended:
                raise LostConnectionError(f"{self.device}: the connection ended while {doing}{self.complaint()}")
            if len(self._received) > LONGEST_ANSWER:
                raise LostConnectionError(f"{self.device}: an answer without end while {doing}{self.complaint()}")
            if (wait := end - time.monotonic()) <= 0:
                raise LostConnectionError(f"{self.device}: no answer in {seconds:g} s while {doing}{self.complaint()}")
            left = left[self._move(left, wait) :]

    def _move(self, left: memoryview, seconds: float) -> int:
        """Wait until something can be sent or received, and do that. Returns the bytes that were sent."""
        sent = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            if not self._errors_ended:
                selector.register(self._errors, selectors.EVENT_READ)
            if left:
                selector.register(self._input, selectors.EVENT_WRITE)
            for key, _ in selector.select(seconds):
                if key.fd == self._input:
                    try:
                        sent = os.write(self._input, left[:BLOCK])
                    except BrokenPipeError:
                        self._end()
                elif key.fd == self._output:
                    block = os.read(self._output, BLOCK)
                    self._received += block
                    if not block:
                        self._end()
                else:
                    self._hear()
        return sent

    def _hear(self) -> None:
        block = os.read(self._errors, BLOCK)
        self._errors_ended = not block
        self._complaints += block
        del self._complaints[:-KEPT_COMPLAINTS]

    def _end(self) -> None:
        """Note that nothing more will come, and what the process had to say about that."""
        self._has_ended = True
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            return
        while not self._errors_ended:
            try:
                self._hear()
            except BlockingIOError:
                return

    def complaint(self) -> str:
        """ ": the last line on standard error", or what the process ended with, or nothing."""
        lines = self._complaints.decode("utf-8", "replace").strip().splitlines()
        if lines:
            return f": {''.join(each if each.isprintable() else ' ' for each in lines[-1]).strip()}"
        code = self._process.poll()
        return "" if code is None else f": it ended with {f'signal {-code}' if code < 0 else f'code {code}'}"

    def close(self) -> None:
        """End the process; nothing is awaited."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
