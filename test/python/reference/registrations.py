"""What torch and ExecuTorch find out again for each program, found out once."""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any

import torch
import torch._export.utils


def look_up_composites_once() -> None:
    """Have torch look up only those composite operators that have been registered since it last did.

    `run_decompositions` makes sure that `torch.ops` has an attribute for each of a thousand operators, once for each
    namespace, though attributes stay. In tests that lower with stock ExecuTorch this was a sixth of the time.
    """
    utils: Any = torch._export.utils
    look_up_all = utils._materialize_cpp_cia_ops
    known = set[str]()

    def look_up_new() -> None:
        names = set[str](torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"))
        if not names <= known:
            look_up_all()
        known.clear()
        known.update(names)

    utils._materialize_cpp_cia_ops = look_up_new


def register_kernels_in_little_time() -> None:
    """Have torch register kernels in Python without building the types of a decorator's annotations for each.

    `run_decompositions` registers six thousand and takes them back; stock ExecuTorch calls it three times for a
    program. That was a third of the time of lowering a small one.
    """
    operator: Any = torch._ops.OperatorBase
    register_any = operator.py_impl

    def py_impl(self: Any, key: Any) -> Any:
        if not isinstance(key, torch._C.DispatchKey) or key == torch._C.DispatchKey.Python:
            return register_any(self, key)

        def register(function: Any) -> Any:
            if key in self.py_kernels:
                return register_any(self, key)(function)
            self.py_kernels[key] = function
            self._dispatch_cache.clear()
            return function

        return register

    operator.py_impl = py_impl


def export_patterns_once() -> None:
    """Have stock's quantizer export each pattern of a convolution and its norm once, not for each model.

    Only where a test has imported it: that takes seconds.
    """
    utils: Any = sys.modules.get("executorch.backends.xnnpack.quantizer.xnnpack_quantizer_utils")
    if utils is None:
        return
    export, known = utils._get_aten_graph_module_for_pattern, dict[tuple[Any, ...], Any]()

    def exported(pattern: Any, inputs: Any, is_cuda: bool) -> Any:
        function = pattern.fn
        key = function.__code__, *(cell.cell_contents for cell in function.__closure__ or ()), is_cuda
        if key not in known:
            known[key] = export(pattern, inputs, is_cuda)
        return deepcopy(known[key])  # a matcher takes the names out of its graph

    utils._get_aten_graph_module_for_pattern = exported
