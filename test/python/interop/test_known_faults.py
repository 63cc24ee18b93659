"""What the installed XNNPACK is known to compute wrong: that it still does, and that files are kept from it.

The smallest graph of each entry runs as it is, in stock ExecuTorch, whose runtime works around nothing, and rewritten,
in both runtimes. Where a graph is right as it is, the library has been mended, and the entry is to go.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from emitter.sample_modules import emitted
from interop.test_pte_files import run_stock
from torch import Tensor

from xir.cost.native import this_machine
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.runtime import Runtime, XirRuntimeError
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.known_faults import KNOWN_FAULTS, KnownFault
from xir.transforms.xnnpack.known_faults.kernels import KERNEL_LIMITS, KernelLimit

Eager = Callable[..., tuple[Tensor, ...]]

SQUARES = torch.arange(1.0, 9.0).reshape(2, 2, 2)
INTEGERS = torch.tensor([-3, 0, 2, 5], dtype=torch.int8)

EXPECTED: dict[str, tuple[tuple[Tensor, ...], Eager]] = {
    "copy-read-twice": ((torch.tensor([1.0, -2.0]),), lambda x: (x + x,)),
    "turned-transpose": ((SQUARES,), lambda x: (x.permute(1, 0, 2) @ x.permute(1, 0, 2),)),
    "scaled-sum": ((torch.arange(8.0).reshape(2, 4).half(),), lambda x: (x.sum(1) * 0.5,)),
    "taken-for-number": (
        (torch.tensor([1.0, 2.0]), torch.tensor([3.0, -4.0])),
        lambda x, y: (torch.minimum((x * 0.0).rsqrt(), y),),
    ),
    # Of scale 0.5 before and 0.25 behind.
    "clamp-in-pooling": (
        (INTEGERS.reshape(1, 2, 2, 1),),
        lambda x: ((x.max() * 0.5).clamp(0, 6).div(0.25).to(torch.int8).reshape(1, 1, 1, 1),),
    ),
    "clamp-without-bounds": ((INTEGERS,), lambda x: (2 * x,)),
    "padding-kept-wide": (
        (torch.tensor([1.0, -2.0]).bfloat16(),),
        lambda x: (torch.nn.functional.pad(x.abs().float(), (1, 0), value=1.5),),
    ),
    "widened-output": ((torch.tensor([1.0, -2.0]).bfloat16(),), lambda x: (x.abs().float(), x.abs())),
    "table-of-higher-rank": ((INTEGERS,), lambda x: ((x + 1).abs().reshape(1, 4),)),
    "long-chain": ((INTEGERS,), lambda x: (x,)),
}
"""The inputs and what PyTorch computes of them, by the name of the fault."""

CRASHES = {"copy-read-twice", "long-chain"}


BY_NAME = {fault.name: fault for fault in KNOWN_FAULTS}
HARMLESS = [name for name in BY_NAME if name not in CRASHES]


def file_of(fault: KnownFault, *pipeline: str) -> bytes:
    """The file of a fault's smallest graph behind passes."""
    return file_of_text(fault.smallest, *pipeline)


def file_of_text(text: str, *pipeline: str) -> bytes:
    """The file of a module behind passes."""
    ctx = XirContext()
    module = parse_module(ctx, text)
    for each in passes_of(",".join((*pipeline, "lower-to-pte", "plan-memory"))):
        each.apply(ctx, module)
    return emitted(module, ctx)


def run_here(data: bytes, *inputs: Tensor) -> list[Tensor]:
    """What xir's runtime computes."""
    return list(map(torch.as_tensor, Runtime.get().load_program(data).load_method().execute(list(inputs))))


def is_right(results: list[Tensor], expected: tuple[Tensor, ...]) -> bool:
    return all(map(torch.equal, results, expected)) and len(results) == len(expected)


def test_each_fault_has_an_oracle() -> None:
    assert EXPECTED.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", HARMLESS)
def test_the_installed_library_computes_it_wrong(name: str) -> None:
    """If this fails, the library has been mended: remove the entry."""
    fault, (inputs, eager) = BY_NAME[name], EXPECTED[name]
    data = file_of(fault)
    run = run_here if '{target = "xir"}' in fault.smallest else run_stock
    try:
        results = run(data, *inputs)
    except (RuntimeError, XirRuntimeError):
        return  # refused where it should run
    assert not is_right(results, eager(*inputs))


def test_the_installed_library_crashes(tmp_path: Path) -> None:
    """Each in a process of its own. If this fails, the library has been mended: remove the entry."""
    for name in CRASHES:
        (tmp_path / f"{name}.pte").write_bytes(file_of(BY_NAME[name]))
        torch.save(EXPECTED[name][0], tmp_path / f"{name}.pt")
    script = """
        import os, resource, sys, torch
        from executorch.extension.pybindings._C import _load_for_executorch
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name in sys.argv[2:]:
            if not (child := os.fork()):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                inputs = torch.load(f"{sys.argv[1]}/{name}.pt")
                _load_for_executorch(f"{sys.argv[1]}/{name}.pte").run_method("forward", inputs)
                os._exit(0)
            status = os.waitpid(child, 0)[1]
            print(name, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path), *CRASHES]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ends = {name: int(end) for name, end in map(str.split, printed.splitlines())}
    assert ends.keys() == CRASHES
    assert set(ends.values()) <= {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS}


@pytest.mark.parametrize("name", ["copy-read-twice", "turned-transpose", "widened-output", "long-chain"])
def test_the_runtime_works_around_it(name: str) -> None:
    """In files of other compilers."""
    inputs, eager = EXPECTED[name]
    assert is_right(run_here(file_of(BY_NAME[name]), *inputs), eager(*inputs))


@pytest.mark.parametrize("name", BY_NAME)
def test_files_are_kept_from_it(name: str) -> None:
    fault, (inputs, eager) = BY_NAME[name], EXPECTED[name]
    data = file_of(fault, "avoid-xnnpack-faults", "check-xnnpack", "isolate-tables")
    assert is_right(run_here(data, *inputs), eager(*inputs))
    if '{target = "xir"}' not in fault.smallest:
        assert is_right(run_stock(data, *inputs), eager(*inputs))


@pytest.mark.parametrize("name", [fault.name for fault in KNOWN_FAULTS if fault.sites is not None])
def test_graphs_written_by_hand_are_refused(name: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        file_of(BY_NAME[name], "check-xnnpack")
    assert BY_NAME[name].wrong in str(error.value)


NODES: dict[str, Callable[[Tensor], Tensor]] = {
    "unary square_root": torch.sqrt,
    "unary reciprocal_square_root": torch.rsqrt,
    "unary log": torch.log,
    "unary sigmoid": torch.sigmoid,
    "unary exp": torch.exp,
}
"""What PyTorch calls the nodes with such kernels."""


OTHERS = "without AVX-512" if this_machine().isa == "avx512" else "with AVX-512"
LIMITS = [limit for limit in KERNEL_LIMITS if limit.processors != OTHERS]
"""Those of this processor's kernels."""


@pytest.mark.here
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.node}-{limit.dtype}-{limit.wrong:g}")
def test_kernels_compute_some_numbers_wrong(limit: KernelLimit) -> None:
    """And those beside them right. If this fails, the library has been mended: remove the entry."""
    numbers = torch.tensor([limit.wrong, limit.right], dtype={"f32": torch.float32, "f16": torch.float16}[limit.dtype])
    expected = NODES[limit.node](numbers)
    (found,) = run_stock(file_of_text(limit.graph), numbers)
    near = torch.isclose(found, expected, rtol=1e-3, atol=0, equal_nan=True)
    assert near.tolist() == [False, True]
