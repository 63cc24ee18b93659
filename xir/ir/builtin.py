"""The builtin dialect as xir registers it: xDSL's ops and attributes, with resources in the context's blob store.

xDSL keeps `dense_resource` data in one store for the whole process, as hex text, and renames a key when it meets it a
second time. Here a key is declared unchanged and its bytes are the context's `BlobStore`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Dialect

from xir.ir.blobs import BlobStore

ALIGNMENT_DIGITS = 8
"""A blob's text is `0x`, its alignment as a little-endian u32 (8 hex digits), then its bytes (MLIR, AsmPrinter.cpp)."""

PRINTED_ALIGNMENT = 64
"""The alignment that is printed; what is read only has to be a power of two."""


class BlobResourceInterface(OpAsmDialectInterface):
    """`{-# dialect_resources: { builtin: { key: "0x..." } } #-}` over a context's blob store."""

    def __init__(self, blobs: BlobStore):
        super().__init__()
        self.blobs = blobs

    def declare_resource(self, key: str) -> str:
        return key

    def parse_resource(self, key: str, val: str) -> None:
        self.blobs.set(key, decode_blob(val))

    def lookup(self, key: str) -> str | None:
        return encode_blob(self.blobs, key) if key in self.blobs else None

    def build_resources(self, keys: Iterable[str]) -> dict[str, str]:
        return {key: encode_blob(self.blobs, key) for key in keys if key in self.blobs}


def decode_blob(text: str) -> np.ndarray:
    """The bytes of a blob's text form as a `uint8` vector. ValueError if it is no blob."""
    if not text.startswith("0x") or len(text) < 2 + ALIGNMENT_DIGITS:
        raise ValueError("a resource is a string of hex digits after 0x, of which the first 8 are the alignment")
    try:
        alignment = int.from_bytes(bytes.fromhex(text[2 : 2 + ALIGNMENT_DIGITS]), "little")
        data = bytes.fromhex(text[2 + ALIGNMENT_DIGITS :])
    except ValueError:
        raise ValueError("a resource is made of pairs of hex digits") from None
    if alignment.bit_count() != 1:
        raise ValueError(f"a resource's alignment is a power of two, got {alignment}")
    return np.frombuffer(data, dtype=np.uint8)


def encode_blob(blobs: BlobStore, key: str) -> str:
    """The text form of a blob, in one string: for small ones, `XirPrinter` streams the others."""
    return blob_header() + "".join(chunk.hex().upper() for chunk in blobs.chunks(key))


def blob_header() -> str:
    """What the text form of every blob starts with."""
    return "0x" + PRINTED_ALIGNMENT.to_bytes(4, "little").hex().upper()


def make_builtin(blobs: BlobStore) -> Dialect:
    """The builtin dialect of a context whose constant data lives in `blobs`."""
    return Dialect("builtin", list(Builtin.operations), list(Builtin.attributes), [BlobResourceInterface(blobs)])
