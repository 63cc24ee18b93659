"""What to run next where a program is found wrong: the command line of `xir-bisect`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from xir.plugin_loading import named


def bisect_command(program: str, pipeline: str = "", flags: Sequence[str] = ()) -> str:
    """The command that names the rewrite of a wrong pass and reduces the program; without a pipeline, the default."""
    words = ["xir-bisect", program]
    words += [pipeline] if pipeline else []
    return shlex.join([*words, *flags, *(f"--load-plugin={plugin}" for plugin in named)])
