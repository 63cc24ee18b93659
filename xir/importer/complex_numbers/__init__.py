"""Complex numbers as pairs of real ones: the IR has tensors of real and of imaginary parts alone.

Most operators are taken apart by torch's own `ComplexTensor`, one call at a time. The rules here go before it: for what
it lacks, or computes with cancellation. Importing the package fills their table.
"""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

from torch._subclasses.complex_tensor import ComplexTensor

from . import creation, fourier, frames, functions, movement, products
from .rules import ComplexValue, has_rule, in_parts, is_complex

__all__ = [
    "ComplexTensor",
    "ComplexValue",
    "creation",
    "fourier",
    "frames",
    "functions",
    "has_rule",
    "in_parts",
    "is_complex",
    "movement",
    "products",
]
