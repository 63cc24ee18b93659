"""Command lines with the tools of the interpreter that runs the tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import xir

BESIDE = Path(xir.__file__).parents[1] / "bin"
"""Where `pip install --target` puts what it has to run."""


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line."""
    runner = BESIDE / "xnn_executor_runner"
    if not runner.exists():
        runner = Path(sys.executable).with_name("xnn_executor_runner")
    tools = {
        "xir-opt": f"{sys.executable} -m xir.tools.xir_opt",
        "xir-translate": f"{sys.executable} -m xir.tools.xir_translate",
        "xnn_executor_runner": str(runner),
        "filecheck": f"{sys.executable} -c 'import sys; from filecheck.main import main; sys.exit(main())'",
    }
    for name, command in tools.items():
        line = re.sub(rf"(?<![\w/-]){name}(?![\w-])", lambda _, command=command: command, line)
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False)
