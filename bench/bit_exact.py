"""`python -m bench.bit_exact`: that files of `--bit-exact` have the same results on several processors, to the bit.

Programs of one node each, and models of the zoo in static int8, run here and by each `--on NAME=COMMAND`, the native
runner on another processor: emulated, or a device. Results are compared byte by byte. What `check-bit-exact` accepts
must be the same everywhere: if it is not, a line says so and the command ends with 1. For nodes that it refuses, a line
says on which processors they differ from here.

    python -m bench.bit_exact --on 'Nehalem=qemu-x86_64 -cpu Nehalem .venv/bin/xnn_executor_runner'
"""

from __future__ import annotations

import argparse
import hashlib
import shlex
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.bit_exact_programs import Node, nodes

HERE = "here"
MODELS = ("mv2", "mv3", "resnet18")
RUNS = 20
"""Executions that are timed in turn."""


def hashes(
    file: bytes, inputs: Sequence[np.ndarray], processors: Mapping[str, Sequence[str]], folder: Path
) -> dict[str, str]:
    """A digest of a program's outputs on each processor. RuntimeError if it does not run there."""
    (folder / "program.pte").write_bytes(file)
    for i, value in enumerate(inputs):
        np.save(folder / f"input_{i}.npy", value)
    found: dict[str, str] = {}
    for name, command in processors.items():
        for old in folder.glob("output_*.npy"):
            old.unlink()
        arguments = ["--model_path", "program.pte", "--output-dir", ".", "--threads", "1", "--warmup", "0"]
        arguments += ["--iterations", "1", "--inputs", ",".join(f"input_{i}.npy" for i in range(len(inputs)))]
        done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip()}")
        digest = hashlib.sha256()
        for path in sorted(folder.glob("output_*.npy")):
            output = np.load(path)
            # Which NaN it is, is not promised.
            digest.update(np.where(np.isnan(output), output.dtype.type(np.nan), output).tobytes())
        found[name] = digest.hexdigest()[:16]
    return found


def refusal(node: Node) -> str | None:
    """What `check-bit-exact` says of a node's program; None if it accepts it."""
    from xir.ir.context import XirContext
    from xir.ir.diagnostics import DiagnosticError
    from xir.ir.parser import parse_module
    from xir.ir.passes import PassManager
    from xir.transforms.registry import passes_of

    ctx = XirContext()
    try:
        PassManager(ctx, passes_of("check-bit-exact")).run(parse_module(ctx, node.text, node.name))
    except DiagnosticError as error:
        return error.diagnostic.message
    return None


def numbers(node: Node) -> list[np.ndarray]:
    """Inputs of a node: ordinary numbers, both zeros, and a few that are large or tiny."""
    random, found = np.random.default_rng(5), list[np.ndarray]()
    for shape in node.inputs:
        values = random.normal(0, 1.3, shape).astype(np.float32)
        special = np.array([0.0, -0.0, 1e30, -1e30, 1e-40, -1e-40, 0.5, -0.5], np.float32)
        values.flat[: special.size] = random.permutation(special)
        found.append(values)
    return found


def check_nodes(processors: Mapping[str, Sequence[str]], folder: Path, only: str) -> bool:
    """Whether all nodes that are accepted are the same everywhere."""
    right, accepted, refused = True, 0, 0
    for node in nodes():
        if only not in node.name:
            continue
        found = hashes(node.file(), numbers(node), processors, folder)
        differ = [name for name, digest in found.items() if digest != found[HERE]]
        if refusal(node) is None:
            accepted += 1
            if differ:
                right = False
                print(f"WRONG {node.name}: accepted, but differs on {', '.join(differ)}", flush=True)
        else:
            refused += 1
            print(f"refused {node.name}: differs on {', '.join(differ) or 'none of these'}", flush=True)
    print(f"{accepted} nodes accepted, {refused} refused, on {len(processors)} processors", flush=True)
    return right


def check_models(processors: Mapping[str, Sequence[str]], folder: Path, models: Sequence[str]) -> bool:
    """Whether models in static int8 are the same everywhere, and how much longer they take than without the option."""
    right = True
    for name in models:
        files = {exact: compiled(name, bit_exact=exact) for exact in (True, False)}
        image = np.random.default_rng(3).normal(0, 1, (1, 3, 224, 224)).astype(np.float32)
        found = hashes(files[True], [image], processors, folder)
        right &= len(set(found.values())) == 1
        plain = hashes(files[False], [image], processors, folder)
        ratio = time_ratio(files[True], files[False], image)
        print(f"{name}: {', '.join(f'{on} {digest}' for on, digest in found.items())}")
        print(f"{name} without --bit-exact: {len(set(plain.values()))} different results")
        print(f"{name}: {ratio:.3f} of the time without --bit-exact", flush=True)
    return right


def compiled(name: str, *, bit_exact: bool) -> bytes:
    """A model of the zoo in static int8, as `xir-aot` compiles it."""
    from xir.tools import xir_aot

    with TemporaryDirectory() as scratch:
        option = ["--bit-exact"] if bit_exact else []
        if xir_aot.main(["-m", name, "--quantize=static", *option, "-o", scratch]):
            raise SystemExit(f"{name} is refused")
        (path,) = Path(scratch).glob("*.pte")
        return path.read_bytes()


def time_ratio(first: bytes, second: bytes, image: np.ndarray) -> float:
    """The processor time of one program relative to another's: the least of several runs in turn."""
    from xir.runtime import Runtime

    methods = [Runtime.get().load_program(file, threads=1).load_method() for file in (first, second)]
    least = [float("inf")] * 2
    for _ in range(RUNS):
        for i, method in enumerate(methods):
            start = time.process_time()
            method.execute([image])
            least[i] = min(least[i], time.process_time() - start)
    return least[0] / least[1]


def main() -> int:
    """Check what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", action="append", default=[], metavar="NAME=COMMAND", help="a runner; repeat for more")
    parser.add_argument("--models", default=",".join(MODELS), help="of the zoo, separated by commas; '' for none")
    parser.add_argument("--nodes", default="", metavar="TEXT", help="only the nodes whose names have this text")
    parser.add_argument("--no-nodes", action="store_true", help="only models")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    runner = Path(sys.executable).with_name("xnn_executor_runner")
    processors: dict[str, Sequence[str]] = {HERE: [str(runner)]}
    for each in options.on:
        name, _, command = each.partition("=")
        if not command:
            parser.error(f"--on takes NAME=COMMAND, got '{each}'")
        # Commands run in a folder of their own.
        words = shlex.split(command)
        processors[name] = [str(Path(word).resolve()) if Path(word).is_file() else word for word in words]
    with TemporaryDirectory() as scratch:
        right = options.no_nodes or check_nodes(processors, Path(scratch), options.nodes)
        right &= check_models(processors, Path(scratch), [name for name in options.models.split(",") if name])
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
