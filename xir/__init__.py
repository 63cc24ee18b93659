"""xir compiles PyTorch programs to XNNPACK.

    edge = xir.to_edge(torch.export.export(model, inputs)).to_backend(xir.XnnpackPartitioner())
    with open("model.pte", "wb") as file:
        edge.to_executorch().write_to_file(file)

    method = xir.runtime.Runtime.get().load_program("model.pte").load_method("forward")
    outputs = method.execute(inputs)

To compute on integers, `xir.quantize(model, inputs, calibration=batches)` replaces `torch.export.export`.

Names are loaded when they are first used, so importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import runtime
    from .api import EdgeProgram, ExecutorchProgram, PipelinePartitioner, XnnpackPartitioner, load, to_edge
    from .ir.remarks import RemarkFilter
    from .lock.contract import Contract
    from .lock.errors import BrokenContractError
    from .quantizer import QuantConfig, XnnpackQuantizer, quantize

__version__ = "0.1.0"

__all__ = [
    "BrokenContractError",
    "Contract",
    "EdgeProgram",
    "ExecutorchProgram",
    "PipelinePartitioner",
    "QuantConfig",
    "RemarkFilter",
    "XnnpackPartitioner",
    "XnnpackQuantizer",
    "get_cmake_dir",
    "load",
    "quantize",
    "runtime",
    "to_edge",
]

_MODULES = {
    "BrokenContractError": "xir.lock.errors",
    "Contract": "xir.lock.contract",
    "QuantConfig": "xir.quantizer",
    "RemarkFilter": "xir.ir.remarks",
    "XnnpackQuantizer": "xir.quantizer",
    "quantize": "xir.quantizer",
}
"""Where names are that are not in `xir.api`."""


def get_cmake_dir() -> str:
    """The folder in which CMake's `find_package(xir)` finds the C and C++ libraries: `cmake -Dxir_DIR=…`.

    FileNotFoundError if xir was installed without them (`XIR_NATIVE=OFF`).
    """
    from pathlib import Path

    for folder in __path__:
        found = Path(folder) / "lib" / "cmake" / "xir"
        if found.is_dir():
            return str(found)
    raise FileNotFoundError("xir was installed without its C and C++ libraries (XIR_NATIVE=OFF)")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'xir' has no attribute '{name}'")
    if name == "runtime":
        value = import_module("xir.runtime")
    else:
        value = getattr(import_module(_MODULES.get(name, "xir.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
