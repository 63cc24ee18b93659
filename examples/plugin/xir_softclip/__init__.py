"""A plugin of xir; importing it registers everything."""

from xir_softclip import op, passes

__all__ = ["op", "passes"]
