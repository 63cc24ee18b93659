"""Between modules and `.pte` files, both ways, generic over op definitions and the schemas."""

from xir.emitter.errors import FormatError
from xir.emitter.reader import read
from xir.emitter.writer import emit

__all__ = ["FormatError", "emit", "read"]
