"""Runs generated and altered programs in xir's runtime and in stock ExecuTorch (`make fuzz-differential`).

What both run has to give the same bytes: both call one XNNPACK. With --kernels the programs call portable kernels,
which each runtime has its own of: floats may differ by what their type rounds, all else has to be the same. Stock
trusts a file, so it runs in a process of its own that a file may end, and twice, with freed memory filled in two ways:
what then differs reads uninitialised memory.
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
GENERATOR = ROOT / "build" / "sanitize" / "backend_cpp" / "fuzz" / "xir_fuzz_replay"
FILLS = ("85", "170")
SECONDS = 20
REASONS = 8
"""How many of the commonest reasons for a refusal are printed."""


def main() -> int:
    """Compare as many programs as asked for; 1 if one gives different results, or most run in only one or neither."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="programs (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed (default: 0)")
    parser.add_argument("--odd", action="store_true", help="programs whose parts need not agree")
    parser.add_argument("--kernels", action="store_true", help="programs that call portable kernels")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="where to leave programs whose results differ")
    parser.add_argument("--worker", choices=("xir", "stock"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        return _work(options.worker)
    with tempfile.TemporaryDirectory() as folder:
        command = [str(GENERATOR), "--write", f"{folder}/", "--seed", str(options.seed)]
        command += ["--recipes", str(options.count), *([] if options.odd else ["--valid"])]
        if options.kernels:
            names = Path(folder) / "kernels.txt"
            names.write_text("\n".join(_kernels_of_stock()))
            command += ["--kernels", str(names)]
        subprocess.run(command, check=True)
        files = [Path(folder) / f"{seed}.pte" for seed in range(options.seed, options.seed + options.count)]
        ours = _run_all("xir", files, FILLS[0])
        running = [file for file, result in zip(files, ours, strict=True) if isinstance(result, list)]
        first, second = (dict(zip(running, _run_all("stock", running, fill), strict=True)) for fill in FILLS)
        different, compared = _report(files, ours, first, second, _near if options.kernels else _same)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            for file in different:
                shutil.copy(file, options.keep)
    if not options.odd and compared * 2 < len(files):
        sys.stdout.write("too few programs run in both for this to tell much\n")
        return 1
    return int(bool(different) or "crash" in ours)


def _kernels_of_stock() -> list[str]:
    """Kernels with results to write to, without those that draw numbers or leave memory as it was."""
    from executorch.extension.pybindings.portable_lib import _get_operator_names  # pyright: ignore

    left_out = ("rand", "empty", "dropout", "sym_", "_local_scalar")
    names: list[str] = sorted(_get_operator_names())
    return [
        name
        for name in names
        if "." in name and not name.startswith("executorch_prim") and not any(part in name for part in left_out)
    ]


Output = tuple[str, tuple[int, ...], bytes]
"""A result as dtype, shape and bytes."""

Result = list[Output] | str
"""The outputs; or why there are none."""

ROUNDED = {"torch.float64": 1e-10, "torch.float32": 2e-5, "torch.float16": 4e-3, "torch.bfloat16": 3e-2}
"""By how much two results may differ, as a share of the largest: a few roundings of the type."""


def _same(ours: Output, stock: Output) -> bool:
    return ours == stock


def _near(ours: Output, stock: Output) -> bool:
    share = ROUNDED.get(ours[0])
    if ours == stock or share is None or ours[:2] != stock[:2]:
        return ours == stock
    import torch

    dtype = getattr(torch, ours[0].removeprefix("torch."))
    a, b = (torch.frombuffer(bytearray(each[2]), dtype=dtype).double() for each in (ours, stock))
    usual = a.isfinite() & b.isfinite()
    largest = b[usual].abs().max().item() if usual.any() else 0.0
    close = (a - b).abs() <= share * max(largest, 1.0)
    return bool((close | (a == b) | (a.isnan() & b.isnan())).all())


def _report(
    files: list[Path],
    ours: list[Result],
    first: dict[Path, Result],
    second: dict[Path, Result],
    equal: Callable[[Output, Output], bool],
) -> tuple[list[Path], int]:
    """Print what became of the programs; those that give different results, and how many ran in both."""
    counts: Counter[str] = Counter()
    different: list[Path] = []
    for file, result in zip(files, ours, strict=True):
        if isinstance(result, str):
            counts["refused by xir" if result != "crash" else "crashed xir"] += 1
            continue
        stock = first[file]
        if isinstance(stock, str):
            counts["crashed stock" if stock == "crash" else "refused by stock"] += 1
        elif stock != second[file]:
            counts["not the same in stock twice"] += 1
        elif len(stock) == len(result) and all(map(equal, result, stock)):
            counts["equal"] += 1
        else:
            counts["different"] += 1
            different.append(file)
    for what, count in counts.most_common():
        sys.stdout.write(f"{count:6} {what}\n")
    reasons = Counter(result.partition("\n")[0] for result in (*ours, *first.values()) if isinstance(result, str))
    for reason, count in reasons.most_common(REASONS):
        sys.stdout.write(f"{count:6} times: {reason}\n")
    if different:
        sys.stdout.write(f"different: {', '.join(file.stem for file in different)}\n")
    return different, counts["equal"] + counts["different"]


def _run_all(runtime: str, files: list[Path], fill: str) -> list[Result]:
    """The result of each file; a worker that dies gets a successor, which goes on behind the file."""
    results: list[Result] = []
    environment = {**os.environ, "MALLOC_PERTURB_": fill}
    command = [sys.executable, __file__, "--worker", runtime]
    while len(results) < len(files):
        with tempfile.TemporaryFile() as output:
            names = "\n".join(map(str, files[len(results) :]))
            limit = SECONDS + len(files)
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL, env=environment
            ) as worker:
                try:
                    worker.communicate(names.encode(), timeout=limit)
                except subprocess.TimeoutExpired:
                    worker.kill()
            output.seek(0)
            results += _read_all(output)
        if len(results) < len(files):
            results.append("crash")
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{runtime}: {len(results)} of {len(files)}")
    return results


def _read_all(output: Any) -> list[Result]:
    results: list[Result] = []
    try:
        while True:
            results.append(pickle.load(output))
    except (EOFError, pickle.UnpicklingError):
        return results


# --- In the worker -----------------------------------------------------------------------------------------------


def _work(runtime: str) -> int:
    import torch

    torch.set_num_threads(1)
    run = _run_xir if runtime == "xir" else _run_stock
    # Stock prints to standard output.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for name in sys.stdin.read().splitlines():
        try:
            result: Result = [_plain(value) for value in run(Path(name).read_bytes())]
        except Exception as error:
            result = str(error) or type(error).__name__
        pickle.dump(result, output)
        output.flush()
    return 0


def _plain(value: Any) -> Output:
    import torch

    if not isinstance(value, torch.Tensor):
        return type(value).__name__, (), repr(value).encode()
    if value.is_floating_point():
        # A NaN's sign and payload are unspecified.
        value = torch.where(value.isnan(), torch.tensor(float("nan"), dtype=value.dtype), value)
    data = value.contiguous().view(-1).view(torch.uint8) if value.numel() else torch.empty(0, dtype=torch.uint8)
    return str(value.dtype), tuple(value.shape), data.numpy().tobytes()


def _inputs(data: bytes) -> list[Any]:
    """Small numbers of the types and shapes that the program declares, in its orders of dimensions."""
    import torch

    from xir.runtime import Runtime

    values: list[Any] = []
    generator = torch.Generator().manual_seed(1)
    for info in Runtime.get().load_program(data, threads=1).metadata().inputs:
        assert info.shape is not None
        assert info.dim_order is not None
        shape, order, dtype = info.shape, info.dim_order, getattr(torch, str(info.dtype))
        physical = torch.rand([shape[dim] for dim in order], generator=generator) * 6 - 2
        values.append(physical.permute([order.index(dim) for dim in range(len(order))]).to(dtype))
    return values


def _run_xir(data: bytes) -> list[Any]:
    from xir.runtime import Runtime

    return Runtime.get().load_program(data, threads=1).load_method("forward").execute(_inputs(data))


def _run_stock(data: bytes) -> list[Any]:
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    return list(_load_for_executorch_from_buffer(data).forward(_inputs(data)))


if __name__ == "__main__":
    sys.exit(main())
