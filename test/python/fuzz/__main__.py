"""Runs lit files with mistakes in them through `xir-opt`, each case in a process that it may end: `make fuzz-text`."""

import sys
from functools import partial

from reference.cases import main

from fuzz.mutated_text import check_all

if __name__ == "__main__":
    sys.exit(main(__doc__, lambda asked: partial(check_all, is_shown=asked.show is not None)))
