"""What torch looks up again for each program that it decomposes, looked up once."""

from __future__ import annotations

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
