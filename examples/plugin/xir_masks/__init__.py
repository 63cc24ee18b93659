"""A backend for masks: chains of elementwise operations on integers and bools, each chain one delegate.

XNNPACK computes on neither, so a transformer's masks and positions are some dozens of kernel calls without it.
"""

from pathlib import Path

from xir.plugin import register_backend, register_dialect, register_library
from xir_masks import passes
from xir_masks.backend import MasksBackend
from xir_masks.dialect import Masks

register_dialect("masks", lambda: Masks)
register_backend("masks", MasksBackend)
register_library(Path(__file__).with_name("libmasks.so"))

__all__ = ["passes"]
