"""The runtimes that `make tables` compares: how each makes a file of a model, and runs it.

`pip install 'xir[peers]'` installs ONNX Runtime, OpenVINO with NNCF, and LiteRT's interpreter; what converts for LiteRT
has an environment of its own (litert.py).
"""

from bench.runtimes.litert import LITERT
from bench.runtimes.onnx_runtime import ORT
from bench.runtimes.open_vino import OPENVINO
from bench.runtimes.peer import FORMS, Inputs, Peer
from bench.runtimes.xnnpack_delegates import NATIVE, STOCK, XIR

__all__ = ["FORMS", "NATIVE", "PEERS", "STOCK", "XIR", "Inputs", "Peer", "installed_peers"]

PEERS = (XIR, NATIVE, STOCK, ORT, OPENVINO, LITERT)


def installed_peers() -> list[Peer]:
    """Those whose packages are there."""
    return [peer for peer in PEERS if peer.is_installed]
