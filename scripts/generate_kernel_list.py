"""Write the lists of kernels' names: ExecuTorch's from the installed wheel, and the runtime's from xir as built.

They are dialects/edge/executorch_kernels.txt and xir/schema/portable_kernels.txt.

python scripts/generate_kernel_list.py           rewrite both
python scripts/generate_kernel_list.py --check   exit 1 if one is not up to date
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from generated_file import write_or_check

from xir.runtime import portable_kernels

ROOT = Path(__file__).parent.parent
STOCK_FILE = ROOT / "dialects/edge/executorch_kernels.txt"
PORTABLE_FILE = ROOT / "xir/schema/portable_kernels.txt"


def listing(source: str, names: Iterable[str]) -> str:
    """The text of a file: a comment that names the source, then a kernel a line."""
    header = f"# {source}\n# Written by scripts/generate_kernel_list.py.\n"
    return header + "".join(f"{name}\n" for name in sorted(names))


def stock_kernels() -> list[str]:
    """The kernels that stock ExecuTorch's Python runtime registers."""
    importlib.import_module("executorch.kernels.quantized")  # registers its kernels
    portable_lib = importlib.import_module("executorch.extension.pybindings.portable_lib")
    return portable_lib._get_operator_names()


def main() -> int:
    """Write or check both files."""
    stock = f"The kernels of ExecuTorch {version('executorch')}'s Python runtime with executorch.kernels.quantized."
    own = "The portable kernels of xir's runtime, of which CMake's XIR_KERNELS selects."
    failures = [
        write_or_check(STOCK_FILE, listing(stock, stock_kernels()), __doc__),
        write_or_check(PORTABLE_FILE, listing(own, portable_kernels()), __doc__),
    ]
    return max(failures)


if __name__ == "__main__":
    sys.exit(main())
