"""The op class of each row of the tables, by its name: `AddTensorOp`. `ops.pyi` has them for type checkers."""

from . import (
    convolution,
    creation,
    elementwise,
    indexing,
    matrix,
    normalization,
    pooling,
    quantized,
    reduction,
    shape,
)
from .base import EdgeOp, op_class

_FAMILIES = (
    elementwise,
    convolution,
    matrix,
    reduction,
    normalization,
    pooling,
    shape,
    indexing,
    creation,
    quantized,
)

OPS: dict[str, type[EdgeOp]] = {row.op_name: op_class(row) for family in _FAMILIES for row in family.ROWS}
"""Op classes by op name (`edge.add.Tensor`), one for each row."""

_BY_CLASS_NAME = {cls.__name__: cls for cls in OPS.values()}
if len(_BY_CLASS_NAME) < len(OPS):
    clash = next(cls for cls in OPS.values() if _BY_CLASS_NAME[cls.__name__] is not cls)
    raise ValueError(f"two rows make a {clash.__name__}: give that of '{clash.name}' another class_name")

globals().update(_BY_CLASS_NAME)
__all__ = [*_BY_CLASS_NAME]  # pyright: ignore[reportUnsupportedDunderAll]
