"""Constant data of a context: bytes by key, referenced from the IR as `dense_resource<key>`.

Data is held as handed over (a numpy array of any strides, bytes, a memoryview, an mmap) and never copied, so a model's
weights exist once in memory from the importer to the file. Two keys may hold equal bytes; the digest tells.

4-bit integers take a byte each in the IR, but are held two to a byte, as in the file, and unpacked when asked for.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from xir.ir.nibbles import Packed, Unpacked, unpack

BlobData = np.ndarray | Packed | bytes | bytearray | memoryview | mmap.mmap
"""What a blob can be made of."""

CHUNK_BYTES = 1 << 20
"""Upper bound of one streamed chunk, where the data is not contiguous and has to be gathered."""


@dataclass
class _Blob:
    data: np.ndarray | Packed
    digest: bytes | None = None
    packed_digest: bytes | None = None

    @property
    def array(self) -> np.ndarray:
        return unpack(self.data) if isinstance(self.data, Packed) else self.data

    @property
    def nbytes(self) -> int:
        return self.data.size if isinstance(self.data, Packed) else self.data.nbytes


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
        blob = _Blob(_held(data))
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
        self._blobs[key] = _Blob(_held(data))

    def get(self, key: str) -> np.ndarray:
        """The data of `key`: the array as it was added, or its bytes as a `uint8` vector. KeyError if there is none.

        4-bit integers that are held packed are unpacked anew each time.
        """
        return self._blobs[key].array

    def packed(self, key: str) -> tuple[Packed, bytes] | None:
        """The 4-bit integers of `key` as they are held, and the sha256 of these bytes; None for other data."""
        blob = self._blobs[key]
        if not isinstance(blob.data, Packed):
            return None
        if blob.packed_digest is None:
            blob.packed_digest = _sha256(blob.data.bytes)
        return blob.data, blob.packed_digest

    def nbytes(self, key: str) -> int:
        """The size of the data in bytes."""
        return self._blobs[key].nbytes

    def chunks(self, key: str) -> Iterator[memoryview]:
        """The data's bytes in C order, as consecutive read-only views; strided data is gathered piece by piece."""
        return _blob_chunks(self._blobs[key])

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


def _held(data: BlobData) -> np.ndarray | Packed:
    if isinstance(data, Unpacked) and data.packed is not None:
        return data.packed
    return data if isinstance(data, np.ndarray | Packed) else np.frombuffer(data, dtype=np.uint8)


def _blob_chunks(blob: _Blob) -> Iterator[memoryview]:
    if not isinstance(blob.data, Packed):
        yield from _chunks(blob.data)
        return
    for part in blob.data.split(CHUNK_BYTES):
        yield from _chunks(unpack(part))


def _chunks(array: np.ndarray) -> Iterator[memoryview]:
    if array.nbytes == 0:
        return
    if array.flags.c_contiguous:
        yield _bytes(array).data.toreadonly()
        return
    rows = max(1, CHUNK_BYTES // max(1, array[0].nbytes))
    for start in range(0, array.shape[0], rows):
        block = array[start : start + rows]
        if block.nbytes > CHUNK_BYTES and block.ndim > 1:
            yield from _chunks(block[0])
        else:
            yield from _chunks(np.ascontiguousarray(block))


def _bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array whose elements lie one behind the other."""
    return array.reshape(-1).view(np.uint8)


def _digest(blob: _Blob) -> bytes:
    if blob.digest is None:
        sha256 = hashlib.sha256()
        for chunk in _blob_chunks(blob):
            sha256.update(chunk)
        blob.digest = sha256.digest()
    return blob.digest


def _sha256(array: np.ndarray) -> bytes:
    sha256 = hashlib.sha256()
    for chunk in _chunks(array):
        sha256.update(chunk)
    return sha256.digest()


def _equal(a: _Blob, b: _Blob) -> bool:
    if a.nbytes != b.nbytes:
        return False
    if isinstance(a.data, Packed) and isinstance(b.data, Packed):
        return a.data.shape == b.data.shape and _equal_arrays(a.data.bytes, b.data.bytes)
    if isinstance(a.data, Packed) or isinstance(b.data, Packed):
        return _digest(a) == _digest(b)
    if a.data.shape == b.data.shape and a.data.itemsize == b.data.itemsize:
        return _equal_arrays(a.data, b.data)
    if a.data.flags.c_contiguous and b.data.flags.c_contiguous:
        # A filter of 1x1 in another layout, for one.
        return _equal_arrays(_bytes(a.data), _bytes(b.data))
    return _beginning(a.data) == _beginning(b.data) and _digest(a) == _digest(b)


def _equal_arrays(a: np.ndarray, b: np.ndarray) -> bool:
    """Of one shape and element size."""
    same_memory = a.__array_interface__["data"] == b.__array_interface__["data"]
    return (same_memory and a.strides == b.strides) or _same_bytes(np.atleast_1d(a), np.atleast_1d(b))


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
