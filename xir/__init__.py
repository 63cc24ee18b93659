"""xir compiles PyTorch programs to XNNPACK.

    edge = xir.to_edge(torch.export.export(model, inputs)).to_backend(xir.XnnpackPartitioner())
    with open("model.pte", "wb") as file:
        edge.to_executorch().write_to_file(file)

    method = xir.runtime.Runtime.get().load_program("model.pte").load_method("forward")
    outputs = method.execute(inputs)

Names are loaded when they are first used: importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import runtime
    from .api import EdgeProgram, ExecutorchProgram, XnnpackPartitioner, to_edge

__version__ = "0.1.0"

__all__ = ["EdgeProgram", "ExecutorchProgram", "XnnpackPartitioner", "runtime", "to_edge"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'xir' has no attribute '{name}'")
    value = import_module("xir.runtime") if name == "runtime" else getattr(import_module("xir.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
