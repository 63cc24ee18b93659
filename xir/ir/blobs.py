"""Constant data of a context: bytes by key, referenced from the IR as `dense_resource<key>`.

Data is held as handed over (a numpy array of any strides, bytes, a memoryview, an mmap) and never copied, so a model's
weights exist once in memory from the importer to the file. Two keys may hold equal bytes; the digest tells.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

BlobData = np.ndarray | bytes | bytearray | memoryview | mmap.mmap
"""What a blob can be made of."""

CHUNK_BYTES = 1 << 20
"""Upper bound of one streamed chunk, where the data is not contiguous and has to be gathered."""


@dataclass
class _Blob:
    array: np.ndarray
    digest: bytes | None = None


@dataclass
class BlobStore:
    """The blobs of one context. Keys are any non-empty text; in the IR a key that is no identifier is quoted."""

    _blobs: dict[str, _Blob] = field(default_factory=dict[str, _Blob])

    def add(self, key_hint: str, data: BlobData) -> str:
        """Store `data` and return its key: `key_hint`, or `key_hint_1`, `key_hint_2`, ... if that is taken.

        Adding equal bytes under the same hint again returns the key that holds them already.
        """
        if not key_hint:
            raise ValueError("a blob needs a non-empty key")
        blob = _Blob(_as_array(data))
        key = key_hint
        suffix = 0
        while (existing := self._blobs.get(key)) is not None:
            if _equal(existing, blob):
                return key
            suffix += 1
            key = f"{key_hint}_{suffix}"
        self._blobs[key] = blob
        return key

    def set(self, key: str, data: BlobData) -> None:
        """Store `data` under exactly `key`, replacing what was there."""
        if not key:
            raise ValueError("a blob needs a non-empty key")
        self._blobs[key] = _Blob(_as_array(data))

    def get(self, key: str) -> np.ndarray:
        """The data of `key`: the array as it was added, or its bytes as a `uint8` vector. KeyError if there is none."""
        return self._blobs[key].array

    def nbytes(self, key: str) -> int:
        """The size of the data in bytes."""
        return self._blobs[key].array.nbytes

    def chunks(self, key: str) -> Iterator[memoryview]:
        """The data's bytes in C order, as consecutive read-only views; strided data is gathered piece by piece."""
        return _chunks(self._blobs[key].array)

    def digest(self, key: str) -> bytes:
        """The sha256 of the data's bytes in C order, computed once."""
        return _digest(self._blobs[key])

    def drop(self, keys: Iterable[str]) -> None:
        """Forget the blobs of `keys`; a key without a blob is no error."""
        for key in keys:
            self._blobs.pop(key, None)

    def clone(self) -> BlobStore:
        """A store with the same blobs, sharing their memory; adding to or dropping from one leaves the other alone."""
        return BlobStore(dict(self._blobs))

    def restore(self, earlier: BlobStore) -> None:
        """Hold what `earlier`, a clone, holds, and nothing else."""
        self._blobs.clear()
        self._blobs.update(earlier._blobs)

    def __contains__(self, key: object) -> bool:
        return key in self._blobs

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)


def _as_array(data: BlobData) -> np.ndarray:
    return data if isinstance(data, np.ndarray) else np.frombuffer(data, dtype=np.uint8)


def _chunks(array: np.ndarray) -> Iterator[memoryview]:
    if array.nbytes == 0:
        return
    if array.flags.c_contiguous:
        yield array.reshape(-1).view(np.uint8).data.toreadonly()
        return
    rows = max(1, CHUNK_BYTES // max(1, array[0].nbytes))
    for start in range(0, array.shape[0], rows):
        block = array[start : start + rows]
        if block.nbytes > CHUNK_BYTES and block.ndim > 1:
            yield from _chunks(block[0])
        else:
            yield from _chunks(np.ascontiguousarray(block))


def _digest(blob: _Blob) -> bytes:
    if blob.digest is None:
        sha256 = hashlib.sha256()
        for chunk in _chunks(blob.array):
            sha256.update(chunk)
        blob.digest = sha256.digest()
    return blob.digest


def _equal(a: _Blob, b: _Blob) -> bool:
    if a.array.nbytes != b.array.nbytes:
        return False
    same_memory = a.array.__array_interface__["data"] == b.array.__array_interface__["data"]
    if same_memory and a.array.strides == b.array.strides and a.array.shape == b.array.shape:
        return True
    if a.array.shape == b.array.shape and a.array.itemsize == b.array.itemsize:
        return _same_bytes(np.atleast_1d(a.array), np.atleast_1d(b.array))
    return _beginning(a.array) == _beginning(b.array) and _digest(a) == _digest(b)


def _beginning(array: np.ndarray) -> bytes:
    """The first 64 bytes in C order: enough to tell most arrays apart."""
    return array.flat[:64].tobytes()[:64]


def _same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one shape hold the same bytes: many times faster than two digests, also where they do."""
    rows = max(1, CHUNK_BYTES * len(a) // max(1, a.nbytes))
    for start in range(0, len(a), rows):
        x, y = (np.ascontiguousarray(each[start : start + rows]).reshape(-1).view(np.uint8) for each in (a, b))
        if not np.array_equal(x, y):
            return False
    return True
