"""`make wheel`: builds wheels for processors, tagged manylinux_2_28, with XNNPACK and its licences inside.

The interpreter that runs this decides for which version of Python. XNNPACK is the one of ExecuTorch's wheel for the
processor; wheel_xnnpack.py makes it what a wheel can hold.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from wheel_xnnpack import bundle

ROOT = Path(__file__).parents[1]
PROCESSORS = ("x86_64", "aarch64")


def build(processor: str, work: Path) -> Path:
    """The wheel for a processor as CMake makes it, not yet checked."""
    xnnpack = work / "xnnpack"
    bundle(processor, work / "executorch", xnnpack)
    suffix = f".cpython-{sys.version_info.major}{sys.version_info.minor}-{processor}-linux-gnu.so"
    # What cross-compiled Pythons are told by. scikit-build-core reads them, pybind11 asks the interpreter instead.
    env = os.environ | {"_PYTHON_HOST_PLATFORM": f"linux-{processor}", "SETUPTOOLS_EXT_SUFFIX": suffix}
    settings = {
        "build-dir": str(work / f"cmake-{sys.implementation.cache_tag}"),
        "cmake.define.CMAKE_TOOLCHAIN_FILE": str(ROOT / "backend_cpp/cmake/manylinux/toolchain.cmake"),
        "cmake.define.XIR_ZIG": _zig(),
        "cmake.define.XIR_PROCESSOR": processor,
        "cmake.define.XIR_BUNDLED_XNNPACK": str(xnnpack),
        "cmake.define.PYTHON_MODULE_EXTENSION": suffix,
    }
    made = work / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    program = f"from scikit_build_core.build import build_wheel; build_wheel({str(made)!r}, {settings!r})"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, env=env)
    (wheel,) = made.glob("xir-*.whl")
    return wheel


AUDITWHEEL = "import platform, sys; platform.machine = lambda: {!r}; from auditwheel.main import main; sys.exit(main())"
"""It takes the tags of the processor that it runs on alone, though it reads the wheels of others too."""


def repair(wheel: Path, processor: str, out: Path) -> None:
    """Have auditwheel check that a wheel is what its tag says, and write it with the tag."""
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-c", AUDITWHEEL.format(processor), "repair", "--only-plat"]
    target = ["--plat", f"manylinux_2_28_{processor}", "--wheel-dir", str(out)]
    subprocess.run([*command, *target, str(wheel)], check=True, env=env)


def _zig() -> str:
    return str(files("ziglang") / "zig")


def main() -> None:
    """Build the wheels that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("processors", nargs="*", metavar="PROCESSOR", help=f"{', '.join(PROCESSORS)} (default: both)")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="where they go (default: dist)")
    options = parser.parse_args()
    for processor in options.processors or PROCESSORS:
        if processor not in PROCESSORS:
            parser.error(f"there is no wheel for '{processor}'; there are wheels for {' and '.join(PROCESSORS)}")
        wheel = build(processor, ROOT / "build" / "wheel" / processor)
        repair(wheel, processor, options.out)


if __name__ == "__main__":
    main()
