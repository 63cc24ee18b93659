"""The Python face of the runtime, on programs that stock ExecuTorch wrote."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from xir.runtime import Method, Program, Runtime, XirCancelledError, XirRuntimeError
from xir.runtime.convert import TensorInput

GOLDEN = Path(__file__).parents[3] / "backend_cpp" / "tests" / "data"
IMAGE = np.load(GOLDEN / "stock_small.input_0.npy")
EXPECTED = np.load(GOLDEN / "stock_small.output_0.npy")


def load(name: str, **options: Any) -> Method:
    return Runtime.get().load_program(GOLDEN / name, **options).load_method("forward")


@pytest.fixture
def method() -> Method:
    return load("stock_small.pte")


def assert_expected(out: np.ndarray) -> None:
    """What the golden program computes of `IMAGE`."""
    np.testing.assert_allclose(out, EXPECTED, rtol=1e-5, atol=1e-6)


def test_outputs_are_of_the_inputs_kind(method: Method):
    (out,) = method.execute([torch.from_numpy(IMAGE)])
    assert isinstance(out, torch.Tensor)
    assert_expected(out.numpy())
    transposed = np.ascontiguousarray(IMAGE.transpose(0, 3, 2, 1)).transpose(0, 3, 2, 1)
    transposed.flags.writeable = False
    for given in (IMAGE, transposed):
        (out,) = method.execute([given])
        assert isinstance(out, np.ndarray)
        assert_expected(out)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "plain": lambda x: x,
    "channels last": lambda x: x.to(memory_format=torch.channels_last),
    "strided": lambda x: x.repeat_interleave(2, -1)[..., ::2],
    "negated": lambda x: torch._neg_view(-x),  # pyright: ignore[reportPrivateImportUsage]
    "conjugated": lambda x: torch.complex(x, -x).conj().imag,
    "interleaved": lambda x: torch.complex(x, x)[None][0].real,
    "parameter": lambda x: torch.nn.Parameter(x),
    "with a gradient": lambda x: x.clone().requires_grad_() * 1,
    "an offset": lambda x: torch.cat([torch.zeros(7), x.flatten()])[7:].view(x.shape),
}


def test_tensors_that_hold_the_same_otherwise(method: Method):
    for name, view in VIEWS.items():
        given = view(torch.from_numpy(IMAGE))
        torch.testing.assert_close(given.detach(), torch.from_numpy(IMAGE), rtol=0, atol=0)
        torch.testing.assert_close(method.execute([given])[0], torch.from_numpy(EXPECTED), msg=f"{name}: ".__add__)


def test_an_address_comes_with_what_keeps_it_alive():
    """Another thread may take the tensor out of the list of inputs meanwhile."""
    given = torch.from_numpy(IMAGE)
    form = TensorInput({"dtype": 6, "dim_order": (0, 1, 2, 3)}, 0)
    *place, owner = form(given)
    assert place == [given.data_ptr(), given.shape, given.nbytes]
    assert owner is given
    array, shape = form(given.transpose(2, 3))[:2]
    assert shape == (1, 3, 16, 16)
    np.testing.assert_array_equal(array, IMAGE.transpose(0, 1, 3, 2))


def test_outputs_are_copies(method: Method):
    (first,) = method.execute([IMAGE])
    kept = first.copy()
    method.execute([IMAGE * 3])
    np.testing.assert_array_equal(first, kept)


def test_programs_from_memory():
    for kind in (bytes, bytearray, memoryview):
        program = Runtime.get().load_program(kind((GOLDEN / "stock_small.pte").read_bytes()))
        assert program.method_names == ["forward"]
        assert_expected(program.load_method().execute([IMAGE])[0])


def test_threads_are_the_callers_choice():
    programs: list[Program] = [Runtime.get().load_program(GOLDEN / "stock_many.pte", threads=n) for n in (1, 3)]
    assert [program.threads for program in programs] == [1, 3]
    x = np.load(GOLDEN / "stock_many.input_0.npy")
    one, three = (program.load_method().execute([x])[0] for program in programs)
    np.testing.assert_allclose(one, three, rtol=1e-6)


def test_metadata():
    metadata = load("stock_dynamic.pte").metadata
    assert (metadata.num_inputs(), metadata.num_outputs(), metadata.num_delegates) == (1, 2, 1)
    (x,) = metadata.inputs
    assert (x.kind, x.dtype, x.shape, x.dynamic, x.dim_order) == ("tensor", "float32", (10, 8), True, (0, 1))
    assert "aten::embedding.out" in load("stock_portable.pte").metadata.kernel_names


def test_metadata_needs_no_packing():
    program = Runtime.get().load_program(GOLDEN / "stock_small.pte")
    metadata = program.metadata("forward")
    assert program.packed_weights.nbytes == 0
    assert metadata == program.load_method("forward").metadata
    assert program.packed_weights.nbytes > 0
    with pytest.raises(XirRuntimeError, match="it has: forward"):
        program.metadata("backward")


def test_packed_weights_are_kept(tmp_path: Path):
    file = tmp_path / "packed"
    for kept in (False, True):
        program = Runtime.get().load_program(GOLDEN / "stock_small.pte", packed_weights=file)
        assert_expected(program.load_method("forward").execute([IMAGE])[0])
        packed = program.packed_weights
        assert (packed.read, packed.written, packed.remark) == (kept, not kept, "")
    file.write_bytes(b"something else")
    program = Runtime.get().load_program(GOLDEN / "stock_small.pte", packed_weights=file)
    program.load_method("forward")
    assert "left as it is" in program.packed_weights.remark
    assert file.read_bytes() == b"something else"


def test_bound_outputs_are_the_callers_memory(method: Method):
    out = np.full_like(EXPECTED, np.nan)
    method.bind_output(0, out)
    (answer,) = method.execute([IMAGE])
    assert np.shares_memory(answer, out)
    assert_expected(out)
    other = torch.full(EXPECTED.shape, torch.nan)
    method.bind_output(0, other)
    kept = out.copy()
    (answer,) = method.execute([torch.from_numpy(IMAGE * 3)])
    assert answer.data_ptr() == other.data_ptr()
    torch.testing.assert_close(other, load("stock_small.pte").execute([torch.from_numpy(IMAGE * 3)])[0])
    np.testing.assert_array_equal(out, kept)
    assert not method.bind_output(0, None)
    (answer,) = method.execute([IMAGE])
    assert not np.shares_memory(answer, other.numpy())


def test_bound_memory_lives_as_long_as_it_is_written():
    method = load("stock_small.pte")
    method.bind_output(0, np.empty_like(EXPECTED))
    answers = [method.execute([IMAGE * scale])[0] for scale in (3, 1)]
    del method
    for answer in answers:
        assert_expected(answer)


def test_bound_outputs_of_dynamic_shapes():
    method = load("stock_dynamic.pte")
    x = torch.from_numpy(np.load(GOLDEN / "stock_dynamic.input_0.npy"))
    expected = torch.from_numpy(np.load(GOLDEN / "stock_dynamic.output_0.npy"))
    shape = method.metadata.outputs[0].shape
    assert shape is not None
    out = torch.empty(shape)
    method.bind_output(0, out)
    for rows in (5, 1, 2):
        answer, plus_one = method.execute([x[:rows]])
        assert answer.data_ptr() == out.data_ptr()
        torch.testing.assert_close(answer, expected[:rows])
        torch.testing.assert_close(plus_one, x[:rows] + 1)


def test_memory_that_no_output_fits(method: Method):
    columns = np.empty((EXPECTED.shape[1], EXPECTED.shape[0] * 2), np.float32).T[::2]
    read_only = np.empty_like(EXPECTED)
    read_only.flags.writeable = False
    for index, out, message in [
        (1, np.empty_like(EXPECTED), "output 1 of 1 does not exist"),
        (-1, np.empty_like(EXPECTED), "output -1 of 1 does not exist"),
        (0, EXPECTED.astype(np.float64), "output 0 is float32, and memory for float64 was given"),
        (0, EXPECTED.T.copy(), "was given"),
        (0, columns, "lies in memory in the order"),
        (0, read_only, "is read-only"),
        (0, 3.0, "output 0 is a tensor, and a float was given"),
    ]:
        with pytest.raises(XirRuntimeError) as error:
            method.bind_output(index, out)
        assert message in str(error.value)


def test_cancel(method: Method):
    method.cancel()
    with pytest.raises(XirCancelledError, match="cancelled before instruction 0"):
        method.execute([IMAGE])
    assert_expected(method.execute([IMAGE])[0])


def test_calls_from_several_threads():
    method = load("stock_small.pte", threads=1)
    failures: list[str] = []

    def run(scale: float):
        reference = load("stock_small.pte", threads=1).execute([IMAGE * scale])[0]
        for _ in range(50):
            if not np.array_equal(method.execute([IMAGE * scale])[0], reference):
                failures.append(f"at scale {scale}")

    threads = [threading.Thread(target=run, args=(scale,)) for scale in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


WRONG_INPUTS: list[tuple[list[object], str]] = [
    ([], "takes 1 inputs, and 0 were given"),
    ([IMAGE.astype(np.float64)], "input 0 is float32, and float64 was given"),
    ([torch.zeros(1, 3, 16, 16, dtype=torch.bfloat16)], "input 0 is float32, and bfloat16 was given"),
    ([torch.from_numpy(IMAGE).to_sparse()], "a tensor's layout is torch.sparse_coo"),
    ([torch.from_numpy(IMAGE).to("meta")], "a tensor is on device 'meta'"),
    ([IMAGE[:, :, :8]], "input 0 has shape [1, 3, 16, 16], and [1, 3, 8, 16] was given"),
    ([torch.from_numpy(IMAGE[:, :, :8])], "input 0 has shape [1, 3, 16, 16], and [1, 3, 8, 16] was given"),
    ([IMAGE[0]], "has shape [1, 3, 16, 16], and [3, 16, 16] was given"),
    ([1.0], "input 0 is a tensor, and a float was given"),
    ([None], "input 0 is a tensor, and a NoneType was given"),
]


def test_inputs_that_do_not_fit(method: Method):
    for given, message in WRONG_INPUTS:
        with pytest.raises(XirRuntimeError, match=re.escape(message)):
            method.execute(given)


def test_sources_that_are_no_program(tmp_path: Path):
    (tmp_path / "empty.pte").touch()
    sources: list[tuple[Path | bytes, str]] = [
        (tmp_path / "missing.pte", "No such file"),
        (tmp_path, "not a regular file"),
        (tmp_path / "empty.pte", "is empty"),
        (bytes(100), "not a .pte program"),
        ((GOLDEN / "stock_small.pte").read_bytes()[:-200], "may be truncated"),
    ]
    for source, message in sources:
        with pytest.raises(XirRuntimeError, match=re.escape(message)):
            Runtime.get().load_program(source)


def test_options_are_checked():
    with pytest.raises(XirRuntimeError, match="threads must be at least 1"):
        Runtime.get().load_program(b"", threads=0)
    with pytest.raises(XirRuntimeError, match="the limit is 1"):
        load("stock_small.pte", max_memory=1)
    with pytest.raises(XirRuntimeError, match="no method 'backward'; it has: forward"):
        Runtime.get().load_program(GOLDEN / "stock_small.pte").load_method("backward")


def run_elsewhere(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own: XNNPACK is bound once in each."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("library", "message"),
    [
        ("/nowhere/xnnpack.so", "XIR_XNNPACK_LIBRARY names '/nowhere/xnnpack.so', which does not exist"),
        (__file__, "cannot be used as XNNPACK"),
        ("libm", "it lacks xnn_initialize"),
    ],
)
def test_library_that_is_not_xnnpack(library: str, message: str):
    if library == "libm":
        library = next(
            line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libm.so" in line
        )
    code = f"import xir.runtime as r; r.Runtime.get().load_program({str(GOLDEN / 'stock_small.pte')!r})"
    done = run_elsewhere(code, XIR_XNNPACK_LIBRARY=library, PYTHONPATH=str(GOLDEN.parents[2]))
    assert done.returncode == 1
    assert message in done.stderr
    assert "pip install --no-deps executorch" in done.stderr or "does not exist" in done.stderr
