"""Run `.pte` programs from Python, on torch tensors or NumPy arrays.

    method = xir.runtime.Runtime.get().load_program("mv2.pte").load_method("forward")
    outputs = method.execute([x])

The C++ runtime (`backend_cpp/`) does the work; operators without a C++ kernel run in torch.
"""

from xir.runtime._native import XirCancelledError, XirMissingDataError, XirRuntimeError
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
