"""The annotations that bound dynamic dimensions, on a function's arguments and on ops without shape inference."""

MAX_SHAPE = "xir.max_shape"
"""Of a function's argument: its largest shape, array<i64>."""

MAX_SHAPES = "xir.max_shapes"
"""Of an edge op: an array with the largest shape of each result."""

DIM_NAMES = "xir.dim_names"
"""The names of dynamic dimensions: an array with a string for each dimension, empty for a static one; of an op, an
array of those, one for each result. Dimensions of one name have one size."""
