"""A plugin of xir; importing it registers everything, its library of kernels too."""

from pathlib import Path

from xir.plugin import register_library
from xir_softclip import op, passes

register_library(Path(__file__).with_name("libsoftclip.so"))

__all__ = ["op", "passes"]
