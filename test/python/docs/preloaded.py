"""xir's commands in processes that have imported PyTorch already: forks of one server, for pages with many commands.

Most of a command's time on a small model is the import of PyTorch, some seconds. `commands` makes a folder with a
program of each command's name, which goes first in PATH: it hands its arguments, folder, environment, and standard
streams to the server, whose fork runs the installed script, and ends as the fork does.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

CLIENT = """\
import json, os, socket, sys
_, address, *command = sys.argv
connection = socket.socket(socket.AF_UNIX)
connection.connect(address)
request = {"argv": command, "folder": os.getcwd(), "environment": dict(os.environ)}
socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
connection.shutdown(socket.SHUT_WR)
answer = connection.recv(16)
sys.exit(int(answer) if answer else "the command died")
"""


@contextmanager
def commands() -> Generator[Path]:
    """A folder of programs, while there is the server that they ask."""
    # The address of a socket has 107 characters at most, fewer than the folder of a test may have.
    with tempfile.TemporaryDirectory(prefix="xir") as folder, serving(f"{folder}/socket"):
        client, programs = Path(folder, "client.py"), Path(folder, "bin")
        client.write_text(CLIENT, encoding="utf-8")
        programs.mkdir()
        for entry in distribution("xir").entry_points.select(group="console_scripts"):
            script = Path(sys.executable).with_name(entry.name)
            words = sys.executable, "-IS", str(client), f"{folder}/socket", str(script)
            program = programs / entry.name
            program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        yield programs


@contextmanager
def serving(address: str) -> Generator[None]:
    """A server that answers at an address."""
    # Threads would not be in the forks.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE, env=environment) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield
        finally:
            server.terminate()


def serve(address: str) -> None:
    """Answer each connection by a fork, until somebody ends this process."""
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                answer(connection)
            connection.close()


def warm_up() -> None:
    """Import what commands do, which is much of PyTorch when it exports for the first time."""
    import torch

    import xir
    import xir.quantizer.quantize  # pyright: ignore[reportUnusedImport]
    import xir.tools.xir_aot  # pyright: ignore[reportUnusedImport]

    exported = torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    assert xir.to_edge(exported, max_size=4).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
    # To look through this for garbage would copy all of its memory in each fork.
    gc.collect()
    gc.freeze()


def answer(connection: socket.socket) -> None:
    """Be the command that is asked for, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams = received(connection)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:] = request["argv"]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    connection.send(str(code).encode())
    os._exit(code)


def received(connection: socket.socket) -> tuple[Any, list[int]]:
    """A request and its standard streams."""
    content, streams, *_ = socket.recv_fds(connection, 1 << 16, 3)
    while more := connection.recv(1 << 16):
        content += more
    return json.loads(content), streams


if __name__ == "__main__":
    serve(sys.argv[1])
