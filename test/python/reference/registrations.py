"""What torch and ExecuTorch find out again for each program, found out once."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import lru_cache
from types import CodeType
from typing import Any

import torch
import torch._export.utils
import torch.export.decomp_utils
import torch.export.exported_program
import torch.fx.graph_module


def look_up_composites_once() -> None:
    """Have torch look up only those composite operators that have been registered since it last did.

    `run_decompositions` makes sure that `torch.ops` has an attribute for each of a thousand operators, once for each
    namespace, though attributes stay. In tests that lower with stock ExecuTorch this was a sixth of the time.
    Between the namespaces of one such look-up, nothing is registered.
    """
    utils: Any = torch._export.utils
    look_up_all, collect_all = utils._materialize_cpp_cia_ops, utils._collect_all_valid_cia_ops
    known = set[str]()
    is_collecting = False

    def look_up_new() -> None:
        if is_collecting:
            return
        names = set[str](torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"))
        if not names <= known:
            look_up_all()
        known.clear()
        known.update(names)

    def collect() -> set[Any]:
        nonlocal is_collecting
        look_up_new()
        is_collecting = True
        try:
            return collect_all()
        finally:
            is_collecting = False

    utils._materialize_cpp_cia_ops = look_up_new
    modules: list[Any] = [utils, torch.export.exported_program, torch.export.decomp_utils]
    for each in modules:
        each._collect_all_valid_cia_ops = collect


def compile_graphs_once() -> None:
    """Have torch compile the text of a graph once, where it writes the same text for the same graph a dozen times.

    Each pass of an export, or of stock's, writes a module's graph as Python; few of them change it.
    """
    graph_module: Any = torch.fx.graph_module
    execute = graph_module._exec_with_source

    @lru_cache(1000)
    def code(source: str) -> CodeType:
        key = graph_module._loader.cache(source, {})  # where tracebacks find its lines
        return compile(source, key, "exec", dont_inherit=True)

    def execute_known(source: str, names: dict[str, Any], fields: dict[str, Any] | None = None) -> None:
        if fields:
            execute(source, names, fields)
        else:
            exec(code(source), names)

    graph_module._exec_with_source = execute_known


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
