"""xir's dialects and passes for xDSL's tools, such as `xdsl-opt`: the entry point `xdsl.universe`."""

from xdsl.dialects import get_all_dialects
from xdsl.transforms import get_all_passes
from xdsl.universe import Universe

from xir.dialects.registry import DIALECTS
from xir.ir.foreign_passes import for_xdsl
from xir.transforms.registry import PASSES

XIR_UNIVERSE = Universe(
    all_dialects={name: make for name, make in DIALECTS.items() if name not in get_all_dialects()},
    all_passes={name: for_xdsl(make) for name, make in PASSES.items() if name not in get_all_passes()},
)
"""All but what xDSL has under the same name: of two with one name it takes neither."""
