"""Runs programs whose kernels are Python's or torch's, and wrong in any way: `make fuzz-boundary`."""

import sys

from reference.cases import main

from boundary_fuzz.parts import CheckWith

OPTIONS = (
    ("--native", "FILE", "another build of the extension module"),
    ("--planted", "FILE=FILE", "a source of xir, and what to take for it"),
)

if __name__ == "__main__":
    sys.exit(main(__doc__, lambda asked: CheckWith(asked.native, asked.planted), OPTIONS))
