"""Run `.pte` programs from Python, on torch tensors or NumPy arrays.

    method = xir.runtime.Runtime.get().load_program("mv2.pte").load_method("forward")
    outputs = method.execute([x])

The C++ runtime (`backend_cpp/`) does the work; operators without a C++ kernel run in torch.
"""

try:
    from xir.runtime._native import XirCancelledError, XirMissingDataError, XirRuntimeError
except ModuleNotFoundError as error:
    if error.name != "xir.runtime._native":
        raise
    message = "xir was installed without its runtime (XIR_NATIVE=OFF): install it again, without that"
    raise ModuleNotFoundError(message, name=error.name) from error

from xir.runtime.profile import Origin, Profile, ProfileEvent
from xir.runtime.program import (
    BufferInfo,
    Method,
    MethodMetadata,
    PackedWeights,
    Program,
    Runtime,
    State,
    ValueInfo,
    manual_seed,
    portable_kernels,
)

__all__ = [
    "BufferInfo",
    "Method",
    "MethodMetadata",
    "Origin",
    "PackedWeights",
    "Profile",
    "ProfileEvent",
    "Program",
    "Runtime",
    "State",
    "ValueInfo",
    "XirCancelledError",
    "XirMissingDataError",
    "XirRuntimeError",
    "manual_seed",
    "portable_kernels",
]
