"""Imports torchao, which registers the operators of quantised programs.

It does so without its complaints about compiled kernels for GPUs, which nothing here uses.
"""

import logging

_before = logging.root.manager.disable
logging.disable(logging.WARNING)
try:
    import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401  # pyright: ignore[reportUnusedImport]
finally:
    logging.disable(_before)
