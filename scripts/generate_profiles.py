"""Write the cost profiles of processors that nobody measured, from what is public of their cores.

They are xir/cost/profiles/NAME.toml, for each NAME of xir/cost/cores/ without a measured profile.

python scripts/generate_profiles.py           rewrite them
python scripts/generate_profiles.py --check   exit 1 if one is not up to date
"""

from __future__ import annotations

import sys

from generated_file import write_or_check

from xir.cost.modelled import core_names, load_core, profile_of
from xir.cost.profile import SHIPPED, load_profile, shipped


def main() -> int:
    """Write or check each file."""
    names = [name for name in core_names() if name not in shipped() or load_profile(name).modelled]
    texts = {name: profile_of(load_core(name)).text() for name in names}
    return max(write_or_check(SHIPPED / f"{name}.toml", text, __doc__) for name, text in texts.items())


if __name__ == "__main__":
    sys.exit(main())
