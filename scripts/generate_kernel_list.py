"""Write the names of ExecuTorch's kernels, dialects/edge/executorch_kernels.txt, from the installed wheel.

python scripts/generate_kernel_list.py           rewrite the file
python scripts/generate_kernel_list.py --check   exit 1 if it is not up to date
"""

from __future__ import annotations

import argparse
import importlib
import sys
from importlib.metadata import version
from pathlib import Path

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


def main() -> int:
    """Write or check the file; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    text = listing()
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{FILE.name} is not up to date: run `make generate`", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
