"""What a wheel and an sdist hold."""

import os
import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from reference.commands import output_of

import xir


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel_file)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> tarfile.TarFile:
    out = tmp_path_factory.mktemp("sdist")
    output_of(sys.executable, "-c", f"from scikit_build_core.build import build_sdist; build_sdist({str(out)!r})")
    (path,) = out.glob("xir-*.tar.gz")
    return tarfile.open(path)


def committed(*patterns: str) -> set[str]:
    return set(output_of("git", "ls-files", *patterns).split())


def modules() -> set[str]:
    """The committed ones, where a distribution holds them: two folders of the tree are linked packages."""
    linked = {f"xir/{name}" for name in committed("dialects/*.py", "transforms/*.py")}
    assert len(linked) > 20
    return committed("xir/*.py") | linked


def read(wheel: zipfile.ZipFile, ending: str) -> str:
    """The text of the one file with this end."""
    (name,) = (name for name in wheel.namelist() if name.endswith(ending))
    return wheel.read(name).decode()


def test_wheel_holds_only_the_package_and_its_data(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    version = next(top for top in tops if top.endswith(".dist-info")).removesuffix(".dist-info")
    assert tops == {"xir", f"{version}.dist-info", f"{version}.data"}


def test_wheel_holds_all_files(wheel: zipfile.ZipFile) -> None:
    """Modules, schemas, what pages are made of, and what native plugins are built with."""
    schemas, assets = committed("xir/schema/*.fbs"), committed("xir/explore/assets/*")
    assert schemas
    assert {Path(name).suffix for name in assets} == {".html", ".css", ".js"}
    headers = {name.replace("backend_cpp/", "xir/") for name in committed("backend_cpp/include/xir/*.h")}
    assert "xir/include/xir/delegate.h" in headers
    libraries = {"xir/lib/libxir_runtime.a", "xir/lib/cmake/xir/xirConfig.cmake"}
    assert modules() | schemas | assets | headers | libraries <= set(wheel.namelist())
    for name in ("dialects", "transforms"):
        assert f'__name__ != "xir.{name}"' in read(wheel, f"xir/{name}/__init__.py")


def test_wheel_holds_the_compiled_parts(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    (extension,) = (name for name in names if name.endswith(".so") and not name.startswith("xir/lib/"))
    assert extension.startswith("xir/runtime/_native.")
    (runner,) = (name for name in names if name.endswith(".data/scripts/xnn_executor_runner"))
    assert wheel.read(runner)[:4] == b"\x7fELF"
    assert wheel.getinfo(runner).external_attr >> 16 & 0o111, "the runner is not executable"


def test_wheel_holds_the_c_library_once(wheel: zipfile.ZipFile) -> None:
    (library,) = (name for name in wheel.namelist() if name.startswith("xir/lib/libxir.so."))
    assert read(wheel, "xir/lib/libxir.so") == f"INPUT({Path(library).name})\n"
    assert "prefix=${pcfiledir}/../.." in read(wheel, "xir/lib/pkgconfig/xir.pc")


def test_cmake_finds_the_library_that_is_installed() -> None:
    assert (Path(xir.get_cmake_dir()) / "xirConfig.cmake").is_file()


def test_without_its_native_parts_it_is_for_any_platform(tmp_path: Path) -> None:
    program = f"from scikit_build_core.build import build_wheel; build_wheel({str(tmp_path)!r})"
    output_of(sys.executable, "-c", program, env=os.environ | {"XIR_NATIVE": "OFF"})
    (path,) = tmp_path.glob("xir-*-py3-none-any.whl")
    names = zipfile.ZipFile(path).namelist()
    assert modules() <= set(names)
    assert not [name for name in names if name.endswith((".so", ".a", ".h"))]


def test_wheel_declares_its_extras_dependencies_and_scripts(wheel: zipfile.ZipFile) -> None:
    metadata, entry_points = read(wheel, ".dist-info/METADATA"), read(wheel, "entry_points.txt")
    assert {"importer", "llm", "explore", "lsp"} <= set(re.findall("^Provides-Extra: (.*)$", metadata, re.MULTILINE))
    required = re.findall(r"^Requires-Dist: ([\w.-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert set(required) == {"xdsl", "numpy", "flatbuffers"}, "torch is left out"
    assert "[xdsl.universe]\nxir = xir.universe:XIR_UNIVERSE" in entry_points
    for script in ("opt", "translate", "explore", "lsp", "llm", "tune", "sweep", "aot"):
        assert f"xir-{script} = " in entry_points


def test_sdist_can_build_the_same_wheel(sdist: tarfile.TarFile) -> None:
    root = sdist.getnames()[0].split("/")[0]
    names = {name.removeprefix(f"{root}/") for name in sdist.getnames()}
    needed = committed("xir/schema/*", "backend_cpp/*") | {"pyproject.toml", "CMakeLists.txt", "LICENSE"}
    assert needed | modules() <= names
    links = [member.name for member in sdist.getmembers() if member.issym()]
    assert links == [], "a link may not survive unpacking; the sdist holds files"
