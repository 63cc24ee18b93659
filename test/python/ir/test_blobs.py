"""The blob store keeps what it is given, without copies, and tells equal bytes apart from equal names."""

import hashlib
import mmap
from pathlib import Path

import numpy as np
import pytest

from xir.ir.blobs import CHUNK_BYTES, BlobStore


def content(blobs: BlobStore, key: str) -> bytes:
    return b"".join(blobs.chunks(key))


def test_an_array_is_kept_as_it_is() -> None:
    blobs = BlobStore()
    array = np.arange(24, dtype=np.float32).reshape(4, 6).T
    key = blobs.add("weight", array)
    assert key == "weight"
    assert blobs.get(key) is array
    assert blobs.nbytes(key) == 96


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_bytes_are_not_copied(wrap: type) -> None:
    data = wrap(b"abcdef")
    blobs = BlobStore()
    kept = blobs.get(blobs.add("data", data))
    assert kept.dtype == np.uint8
    assert np.shares_memory(kept, np.frombuffer(data, np.uint8))


def test_a_mapped_file_stays_mapped(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    blobs = BlobStore()
    assert content(blobs, blobs.add("data", mapped)) == b"0123456789"


def test_a_taken_name_gets_a_suffix_unless_the_bytes_are_equal() -> None:
    blobs = BlobStore()
    first = np.arange(4, dtype=np.int32)
    assert blobs.add("w", first) == "w"
    assert blobs.add("w", first) == "w"
    assert blobs.add("w", first.copy()) == "w"
    assert blobs.add("w", first + 1) == "w_1"
    assert blobs.add("w", first + 2) == "w_2"
    assert blobs.add("w", first + 1) == "w_1"
    assert list(blobs) == ["w", "w_1", "w_2"]


def test_equal_size_is_not_equal_content() -> None:
    blobs = BlobStore()
    square = np.arange(4, dtype=np.int32).reshape(2, 2)
    assert blobs.add("w", square) == "w"
    # The same memory, read in another order.
    assert blobs.add("w", square.T) == "w_1"


@pytest.mark.parametrize("strided", [False, True])
def test_equal_bytes_of_another_shape_are_one_blob(strided: bool) -> None:
    filter = np.arange(24, dtype=np.float32).reshape(4, 6, 1, 1)
    other = np.ascontiguousarray(filter.transpose(0, 2, 3, 1))
    different = other.copy()
    different[-1, -1, -1, -1] += 1
    if strided:
        other, different = (np.repeat(each, 2, axis=-1)[..., ::2] for each in (other, different))
    blobs = BlobStore()
    assert blobs.add("w", filter) == blobs.add("w", other) == "w"
    assert blobs.add("w", different) == "w_1"


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="non-empty key"):
        BlobStore().add("", b"x")
    with pytest.raises(ValueError, match="non-empty key"):
        BlobStore().set("", b"x")


def test_the_digest_is_of_the_bytes_in_c_order() -> None:
    blobs = BlobStore()
    array = np.arange(24, dtype=np.float64).reshape(4, 6)
    expected = hashlib.sha256(array.T.tobytes()).digest()
    assert blobs.digest(blobs.add("transposed", array.T)) == expected
    assert blobs.digest(blobs.add("copied", np.ascontiguousarray(array.T))) == expected


@pytest.mark.parametrize(
    "array",
    [
        np.arange(10, dtype=np.int16)[::2],
        np.arange(10, dtype=np.int16)[::-1],
        np.array(3.5, dtype=np.float32),
        np.zeros((0, 4), dtype=np.float32),
        np.zeros((4, 0), dtype=np.float32).T,
        np.array([True, False]),
        np.broadcast_to(np.float32(2), (3, 5)),
        np.arange(2 * CHUNK_BYTES, dtype=np.uint8).reshape(2, CHUNK_BYTES).T,
        np.arange(4 * CHUNK_BYTES, dtype=np.uint8).reshape(2, 2, CHUNK_BYTES)[:, ::-1],
    ],
    ids=lambda array: f"{array.shape}-{array.strides}",
)
def test_chunks_are_the_bytes_in_c_order(array: np.ndarray) -> None:
    blobs = BlobStore()
    chunks = list(blobs.chunks(blobs.add("data", array)))
    assert b"".join(chunks) == array.tobytes()
    assert all(chunk.readonly for chunk in chunks)
    assert array.flags.c_contiguous or all(chunk.nbytes <= CHUNK_BYTES for chunk in chunks)


def test_set_replaces_and_drop_forgets() -> None:
    blobs = BlobStore()
    blobs.set("w", b"one")
    old_digest = blobs.digest("w")
    blobs.set("w", b"two")
    assert content(blobs, "w") == b"two"
    assert blobs.digest("w") != old_digest
    blobs.drop(["w", "never there"])
    assert "w" not in blobs
    assert len(blobs) == 0
    with pytest.raises(KeyError):
        blobs.get("w")


def test_a_clone_is_independent_and_shares_memory() -> None:
    blobs = BlobStore()
    array = np.arange(4)
    blobs.add("w", array)
    clone = blobs.clone()
    clone.drop(["w"])
    clone.add("v", array)
    assert list(blobs) == ["w"]
    assert clone.get("v") is blobs.get("w")
