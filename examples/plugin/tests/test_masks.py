"""Masks as a delegate: what it computes is what eager computes, in Python and in the native runner."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import xir_masks
from commands import shell
from xir_masks.partitioner import MasksPartitioner

import xir

KERNEL_CALLS = 21
"""What `BertMasks` is without a delegate."""
LIBRARY = Path(xir_masks.__file__).with_name("libmasks.so")


class BertMasks(torch.nn.Module):
    """What an encoder-decoder makes of token ids before it computes with floats."""

    def forward(self, ids: torch.Tensor, given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        position = torch.arange(ids.shape[1])
        keep = (ids != 1) & (given > 0)
        causal = position[None, :] <= position[:, None]
        segment = (ids == 2).long() + 2 * (ids == 3).long()
        same = segment[:, None, :] == segment[:, :, None]
        attend = keep[:, None, None, :] & causal & same[:, None]
        positions = torch.where(keep, position * 2 + 1, 0)
        return torch.where(attend, 0.0, float("-inf")), positions, (1 - given).clamp(0, 1)


def bert_inputs(batch: int = 2, length: int = 48) -> tuple[torch.Tensor, ...]:
    return torch.randint(0, 5, (batch, length)), torch.randint(0, 2, (batch, length))


def lower(model: torch.nn.Module, inputs: Sequence[torch.Tensor], **options: object) -> xir.EdgeProgram:
    program = xir.to_edge(torch.export.export(model.eval(), tuple(inputs), **options))
    return program.to_backend(MasksPartitioner())


def run(file: bytes, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return xir.runtime.Runtime.get().load_program(file, threads=2).load_method().execute(list(inputs))


def count(program: xir.ExecutorchProgram, name: str) -> int:
    """How many ops of a name a program has."""
    return sum(op.name == name for op in program.module.walk())


def test_a_models_masks_are_one_delegate() -> None:
    model, inputs = BertMasks(), bert_inputs()
    portable = xir.to_edge(torch.export.export(model.eval(), inputs)).to_executorch()
    program = lower(model, inputs).to_executorch()
    # As many kernel calls are one call of a delegate.
    assert [count(each, "pte.kernel_call") for each in (portable, program)] == [KERNEL_CALLS, 0]
    assert count(program, "pte.delegate_call") == 1
    for ours, eager in zip(run(program.buffer, inputs), model(*inputs), strict=True):
        assert ours.dtype == eager.dtype
        assert torch.equal(ours, eager)


def test_in_the_native_runner(tmp_path: Path) -> None:
    model, inputs = BertMasks(), bert_inputs()
    file = tmp_path / "masks.pte"
    file.write_bytes(lower(model, inputs).to_executorch().buffer)
    for index, value in enumerate(inputs):
        np.save(tmp_path / f"{index}.npy", value.numpy())
    line = f"xnn_executor_runner --model_path {file} --inputs {tmp_path}/0.npy,{tmp_path}/1.npy"
    missing = shell(line)
    assert missing.returncode == 1
    assert "it is for 'XirMasksBackend', which this runtime does not have" in missing.stderr
    done = shell(f"{line} --libraries {LIBRARY} --output-dir {tmp_path} --profile --iterations 2 --warmup 0")
    assert done.returncode == 0, done.stderr
    assert "Masks (" in done.stdout
    for index, eager in enumerate(model(*inputs)):
        np.testing.assert_array_equal(np.load(tmp_path / f"output_{index}.npy"), eager.numpy())


def test_shapes_below_the_largest() -> None:
    dims = {0: torch.export.Dim("batch", max=4), 1: torch.export.Dim("length", min=2, max=64)}

    class Model(torch.nn.Module):
        def forward(self, ids: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
            keep = (ids != 1) & (given > 0)
            both = keep[:, None, :] & (ids == ids.clamp(0, 2))[:, :, None]
            return both.long().masked_fill(~both, -10_000)

    model = Model()
    program = lower(model, bert_inputs(), dynamic_shapes=(dims, dims)).to_executorch()
    assert count(program, "pte.delegate_call") == 1
    method = xir.runtime.Runtime.get().load_program(program.buffer).load_method()
    for shape in ((2, 48), (4, 64), (1, 2), (3, 7), (2, 48)):
        inputs = bert_inputs(*shape)
        assert torch.equal(method.execute(list(inputs))[0], model(*inputs))


def numbers(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Small numbers, and the largest and smallest."""
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    limits = torch.iinfo(dtype)
    some = torch.tensor([limits.min, limits.max, -1, 0, 1, 2, limits.max - 1], dtype=dtype)
    return some[torch.randint(0, len(some), shape)]


I32, I64, BOOL = torch.int32, torch.int64, torch.bool
OPERATIONS: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.dtype, ...]]] = {
    "add": (lambda a, b: a + b, (I64, I64)),
    "add_alpha": (lambda a, b: torch.add(a, b, alpha=3), (I32, I32)),
    "add_scalar": (lambda a, b: a + 7 + b, (I64, I32)),
    "add_bools": (lambda a, b: a + b, (BOOL, BOOL)),
    "sub": (lambda a, b: a - b, (I32, I64)),
    "rsub": (lambda a, b: (5 - a) * b, (I32, I32)),
    "mul": (lambda a, b: a * b, (I64, BOOL)),
    "mul_bools": (lambda a, b: a * b, (BOOL, BOOL)),
    "minimum": (torch.minimum, (I32, I32)),
    "maximum": (torch.maximum, (I64, I32)),
    "eq": (lambda a, b: a == b, (I64, I32)),
    "ne": (lambda a, b: a != b, (BOOL, I32)),
    "lt": (lambda a, b: a < b, (I64, I64)),
    "le": (lambda a, b: a <= b, (I32, I32)),
    "gt": (lambda a, b: a > b, (I32, I64)),
    "ge": (lambda a, b: a >= b, (BOOL, BOOL)),
    "gt_scalar_of_bools": (lambda a, b: (a > 0) & (b < 1), (BOOL, I64)),
    "bitwise": (lambda a, b: (a & b) | (a ^ 5), (I64, I32)),
    "bitwise_not": (lambda a, b: ~a ^ b, (I32, I32)),
    "not_of_bools": (lambda a, b: ~a | b, (BOOL, BOOL)),
    "logical": (lambda a, b: torch.logical_xor(torch.logical_and(a, b), torch.logical_or(a, b)), (I64, BOOL)),
    "logical_not": (lambda a, b: torch.logical_not(a) & b, (I32, BOOL)),
    "neg": (lambda a, b: -a + b, (I64, I64)),
    "where": (lambda a, b: torch.where(a > b, a, b), (I64, I32)),
    "where_floats": (lambda a, b: torch.where(a, 0.0, -1.5) + torch.where(b, 1.0, 2.0), (BOOL, BOOL)),
    "masked_fill": (lambda a, b: a.masked_fill(b, 9), (I64, BOOL)),
    "to_float": (lambda a, b: (a + b).float(), (I64, I64)),
    "to_int": (lambda a, b: a.to(I32) + b, (I64, I32)),
    "to_bool": (lambda a, b: a.bool() & b, (I64, BOOL)),
    "clamp": (lambda a, b: a.clamp(-1, 3) + b.clamp(min=0), (I64, I64)),
    "squeeze": (lambda a, b: a[None, :, None].squeeze(0) + b[:, None], (I64, I64)),
    "view": (lambda a, b: (a + 1).view(a.shape[0], 1, 1, a.shape[1]) == b[:, None, :, None], (I64, I64)),
    "expand": (lambda a, b: (a[:, None] + b[None]).expand(2, *([-1] * (a.dim() + 1))), (I64, I64)),
}


@pytest.mark.parametrize("shapes", [((5, 3), (5, 3)), ((5, 1), (1, 3)), ((40, 70), (70,))], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    function, dtypes = OPERATIONS[name]
    torch.manual_seed(sum(map(ord, name)))
    inputs = [numbers(dtype, *shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
    if name in ("view", "expand", "squeeze"):
        inputs[1] = numbers(dtypes[1], *shapes[0])

    class Model(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return function(a, b)

    program = lower(Model(), inputs).to_executorch()
    floats = name == "where_floats"  # their sum is not of masks
    assert count(program, "pte.delegate_call") == 1
    assert program.kernel_names == (["aten::add.out"] if floats else [])
    (ours,) = run(program.buffer, inputs)
    assert torch.equal(ours, function(*inputs))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda a: a.float() > 0.5, "it computes with floats"),
        (lambda a: a > 0.5, "no integer"),
        (lambda a: (a > 0).double(), "it gives f64"),
        (lambda a: a.cumsum(0), "it is no operation on masks"),
        (lambda a: (a + 1).view(6), "it changes more than dimensions of size 1"),
    ],
    ids=["floats", "half", "double", "cumsum", "view"],
)
def test_what_is_left_outside(function: Callable[..., torch.Tensor], reason: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, a: torch.Tensor) -> torch.Tensor:
            return function(a)

    inputs = (numbers(I64, 2, 3),)
    program = lower(Model(), inputs)
    assert any(any(each in str(remark) for each in reason.split("|")) for remark in program.remarks), program.remarks
    assert torch.equal(run(program.to_executorch().buffer, inputs)[0], function(*inputs))


def test_a_file_reads_back(tmp_path: Path) -> None:
    file = tmp_path / "masks.pte"
    file.write_bytes(lower(BertMasks(), bert_inputs()).to_executorch(debug_info=False).buffer)
    done = shell(
        f"xir-translate --pte-to-mlir --print-resources {file} -o {tmp_path}/masks.mlir && "
        f"xir-translate --mlir-to-pte {tmp_path}/masks.mlir -o {tmp_path}/again.pte"
    )
    assert done.returncode == 0, done.stderr
    assert "masks.compute select" in (tmp_path / "masks.mlir").read_text(encoding="utf-8")
    assert (tmp_path / "again.pte").read_bytes() == file.read_bytes()


DAMAGE = """
import random, sys
import numpy, xir, xir_masks

file = open(sys.argv[1], "rb").read()
at, size = file.index(b"XMSK"), int(sys.argv[2])
draw = random.Random(0)
refused = 0
for turn in range(1500):
    damaged = bytearray(file)
    for _ in range(draw.randint(1, 3) if turn else 0):
        place = at + draw.randrange(size)
        damaged[place] = draw.choice([0, 1, 2, 0x7F, 0x80, 0xFF, damaged[place] ^ 1 << draw.randrange(8)])
    try:
        method = xir.runtime.Runtime.get().load_program(bytes(damaged), threads=1).load_method()
        method.execute([numpy.zeros(info.shape, info.dtype) for info in method.metadata.inputs])
    except xir.runtime.XirRuntimeError:
        assert turn, "the file itself is sound"
        refused += 1
print(refused)
"""


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "masks.pte"
    program = lower(BertMasks(), bert_inputs(2, 16)).to_executorch()
    file.write_bytes(program.buffer)
    command = [sys.executable, "-c", DAMAGE, str(file), "900"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Other numbers in constants are no damage that anybody could tell.
    assert 500 < int(done.stdout) < 1500
