"""`python -m xir.aot_compiler`."""

import sys

from xir.aot_compiler import main

if __name__ == "__main__":
    sys.exit(main())
