"""The annotations of a function's arguments, and of ops without shape inference: bounds of dimensions, and layouts."""

MAX_SHAPE = "xir.max_shape"
"""Of a function's argument: its largest shape, array<i64>."""

MAX_SHAPES = "xir.max_shapes"
"""Of an edge op: an array with the largest shape of each result."""

DIM_NAMES = "xir.dim_names"
"""The names of dynamic dimensions: an array with a string for each dimension, empty for a static one; of an op, an
array of those, one for each result. Dimensions of one name have one size."""

DIM_ORDER = "xir.dim_order"
"""Of a function's argument: its type is that of the memory; the caller sees dimension i of it as dimension
dim_order[i], array<i64>. An image in channels-last memory, which torch sees as [N, C, H, W], has [0, 2, 3, 1]."""
