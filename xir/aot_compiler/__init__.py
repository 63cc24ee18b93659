"""ExecuTorch's name for `xir-aot`, which is `xir.tools.xir_aot`."""

from xir.tools.xir_aot import main as main
