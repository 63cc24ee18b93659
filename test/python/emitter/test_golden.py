"""Files of released versions, kept for ever: what was once written stays readable.

`<writer>-<version>-<name>.pte.base64`, ours and ExecuTorch's. A release adds files and changes none.
"""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from emitter.sample_modules import emitted

from xir.dialects.xnnpack import NodeOp
from xir.emitter import read
from xir.emitter.container import read_container
from xir.ir.context import XirContext

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.pte.base64"))

NODES = {
    "xir-0.1.0-mixed": ["binary", "concatenate", "static_slice", "unary"],
    "xir-0.1.0-convolutions": [
        "conv2d", "depthwise_conv2d", "max_pooling2d", "static_transpose", "static_reshape", "fully_connected",
        "leaky_relu", "static_constant_pad", "softmax", "static_slice",
    ],
    "xir-0.1.0-quantised": ["convert", "fully_connected", "convert"],
    "executorch-1.5.1-quantised": [
        "convert", "static_transpose", "conv2d", "max_pooling2d", "static_transpose", "convert", "convert", "convert",
        "fully_connected", "convert",
    ],
    "executorch-1.5.1-vision": ["static_transpose", "conv2d", "max_pooling2d", "static_transpose", "fully_connected"],
}  # fmt: skip
"""The nodes of a file's delegates, in order."""


def content(path: Path) -> bytes:
    return base64.b64decode(path.read_bytes())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name.removesuffix(".pte.base64"))
def test_reading(path: Path):
    name = path.name.removesuffix(".pte.base64")
    data = content(path)
    ctx = XirContext()
    module = read(data, ctx)
    assert [op.name.removeprefix("xnnpack.") for op in module.walk() if isinstance(op, NodeOp)] == NODES[name]
    again = read_container(emitted(module, ctx))
    constants = [bytes(segment) for segment in read_container(data).segments]
    # The constants, and the weights by name behind the delegates, byte for byte.
    delegates = sum(len(plan["delegates"]) for plan in again.program["execution_plan"])
    kept = [0, *range(1 + delegates, len(constants))]
    assert [bytes(again.segments[i]) for i in kept] == [constants[i] for i in kept]


def test_every_golden_file_is_expected():
    assert {path.name.removesuffix(".pte.base64") for path in GOLDEN} == set(NODES)
