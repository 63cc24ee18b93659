"""The golden tests on the IR: `.mlir` files whose RUN lines pipe xir-opt or xir-translate into filecheck."""

import os
import sys

import lit.formats

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path[:0] = [root, os.path.join(here, "tools")]

import inprocess

# The workers are forked from this process: what is imported here is imported once.
import xir.ir.parser
import xir.ir.passes
import xir.ir.printer  # noqa: F401

config.name = "xir"
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "Output"]
config.test_source_root = here
config.test_exec_root = os.path.join(root, "build", "lit")

config.environment["PYTHONPATH"] = root
config.environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])

# In a shell the tools run as modules, so that the tests need no installation.
in_a_shell = [
    (rf"(?<![\w./-]){name}(?![\w./-])", f"{sys.executable} -m xir.tools.{name.replace('-', '_')}")
    for name in ("xir-opt", "xir-translate")
]
config.shell_format = lit.formats.ShTest(extra_substitutions=in_a_shell)
config.test_format = inprocess.XirTest(extra_substitutions=in_a_shell)
