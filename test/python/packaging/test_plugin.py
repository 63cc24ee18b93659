"""The plugin of `examples/plugin` with the wheel: what it needs from outside is public, and the tree is not touched."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from reference.commands import ROOT, output_of

EXAMPLE = ROOT / "examples" / "plugin"

SITE = """
import sys
# Of the tree, which is installed in editable form, nothing may be found.
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
"""


@pytest.fixture(scope="module")
def installed(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of xir and of the plugin."""
    folder = tmp_path_factory.mktemp("installed")
    plugin = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(EXAMPLE, plugin)
    # Python compiles the modules that a test imports, of the thousand that there are.
    options = ("-q", "--no-compile", "--no-build-isolation", "--no-deps", "--target", str(folder))
    pip = (sys.executable, "-m", "pip", "install", *options)
    output_of(*pip, str(wheel_file))
    # Its native half is built with the headers and the library of that wheel.
    output_of(*pip, "--upgrade", str(plugin), env=os.environ | {"xir_ROOT": str(folder / "xir")})
    (folder / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    return folder


def test_the_plugins_own_tests_pass(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE / "tests", tmp_path / "tests")
    env = os.environ | {"PYTHONPATH": str(installed)}
    found = output_of(sys.executable, "-c", "import xir; print(xir.__file__)", env=env, cwd=tmp_path)
    assert Path(found.strip()).is_relative_to(installed)
    out = output_of(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", env=env, cwd=tmp_path)
    assert " passed" in out
    assert "skipped" not in out
