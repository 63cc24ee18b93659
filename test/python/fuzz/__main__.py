"""`make fuzz-text`. Processes cannot start from a function of this module, so it holds none."""

import sys

from fuzz.campaign import main

sys.exit(main())
