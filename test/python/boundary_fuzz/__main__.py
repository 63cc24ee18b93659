"""`make fuzz-boundary`. Cases run in processes of their own, as they may end them."""

import sys

from boundary_fuzz.campaign import main

sys.exit(main())
