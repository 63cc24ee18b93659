"""ExecuTorch's name for `xir-aot`, which is `xir.tools.xir_aot`; as there, `--delegate` has to be said."""

from collections.abc import Sequence

from xir.tools import xir_aot


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xir-aot` with the arguments (default: the process's), without delegates by default."""
    return xir_aot.main(argv, delegate=False)
