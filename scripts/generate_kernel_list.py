"""Write the names of ExecuTorch's kernels, dialects/edge/executorch_kernels.txt, from the installed wheel.

python scripts/generate_kernel_list.py           rewrite the file
python scripts/generate_kernel_list.py --check   exit 1 if it is not up to date
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import version
from pathlib import Path

from generated_file import write_or_check

FILE = Path(__file__).parent.parent / "dialects/edge/executorch_kernels.txt"


def listing() -> str:
    """The text of the file: a comment that names the source, then a kernel a line."""
    importlib.import_module("executorch.kernels.quantized")  # registers its kernels
    portable_lib = importlib.import_module("executorch.extension.pybindings.portable_lib")
    names: list[str] = portable_lib._get_operator_names()
    header = (
        f"# The kernels of ExecuTorch {version('executorch')}'s Python runtime with executorch.kernels.quantized.\n"
        "# Written by scripts/generate_kernel_list.py.\n"
    )
    return header + "".join(f"{name}\n" for name in sorted(names))


if __name__ == "__main__":
    sys.exit(write_or_check(FILE, listing(), __doc__))
