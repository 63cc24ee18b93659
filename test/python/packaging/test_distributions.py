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


def test_wheel_holds_only_the_package_and_its_data(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    version = next(top for top in tops if top.endswith(".dist-info")).removesuffix(".dist-info")
    assert tops == {"xir", f"{version}.dist-info", f"{version}.data"}


def test_wheel_holds_every_committed_module(wheel: zipfile.ZipFile) -> None:
    modules = committed("xir/*.py")
    modules |= {f"xir/{name}" for name in committed("dialects/*.py", "transforms/*.py")}
    assert len(modules) > 20
    assert modules - set(wheel.namelist()) == set()


def test_linked_packages_are_files_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    for name in ("dialects", "transforms"):
        assert f'__name__ != "xir.{name}"' in wheel.read(f"xir/{name}/__init__.py").decode()


def test_wheel_holds_the_compiled_parts(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    extensions = [name for name in names if name.endswith(".so") and not name.startswith("xir/lib/")]
    assert len(extensions) == 1, extensions
    assert extensions[0].startswith("xir/runtime/_native.")
    runners = [name for name in names if name.endswith(".data/scripts/xnn_executor_runner")]
    assert len(runners) == 1
    assert wheel.read(runners[0])[:4] == b"\x7fELF"
    assert wheel.getinfo(runners[0]).external_attr >> 16 & 0o111, "the runner is not executable"


def test_wheel_holds_what_native_plugins_are_built_with(wheel: zipfile.ZipFile) -> None:
    headers = {name.replace("backend_cpp/", "xir/") for name in committed("backend_cpp/include/xir/*.h")}
    assert "xir/include/xir/delegate.h" in headers
    wanted = headers | {"xir/lib/libxir_runtime.a", "xir/lib/cmake/xir/xirConfig.cmake"}
    assert wanted - set(wheel.namelist()) == set()


def test_wheel_holds_the_c_library_once(wheel: zipfile.ZipFile) -> None:
    (library,) = (name for name in wheel.namelist() if name.startswith("xir/lib/libxir.so."))
    assert wheel.read("xir/lib/libxir.so").decode() == f"INPUT({Path(library).name})\n"
    assert "prefix=${pcfiledir}/../.." in wheel.read("xir/lib/pkgconfig/xir.pc").decode()


def test_cmake_finds_the_library_that_is_installed() -> None:
    assert (Path(xir.get_cmake_dir()) / "xirConfig.cmake").is_file()


def test_without_its_native_parts_it_is_for_any_platform(tmp_path: Path) -> None:
    program = f"from scikit_build_core.build import build_wheel; build_wheel({str(tmp_path)!r})"
    output_of(sys.executable, "-c", program, env=os.environ | {"XIR_NATIVE": "OFF"})
    (path,) = tmp_path.glob("xir-*-py3-none-any.whl")
    names = zipfile.ZipFile(path).namelist()
    assert committed("xir/*.py") - set(names) == set()
    assert not [name for name in names if name.endswith((".so", ".a", ".h"))]


def test_every_extra_that_pages_name_is_there(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    extras = re.findall("^Provides-Extra: (.*)$", wheel.read(metadata).decode(), re.MULTILINE)
    assert {"importer", "llm", "explore", "lsp"} <= set(extras)


def test_wheel_holds_the_schemas(wheel: zipfile.ZipFile) -> None:
    schemas = committed("xir/schema/*.fbs")
    assert schemas
    assert schemas <= set(wheel.namelist())


def test_wheel_holds_what_pages_are_made_of(wheel: zipfile.ZipFile) -> None:
    assets = committed("xir/explore/assets/*")
    assert {Path(name).suffix for name in assets} == {".html", ".css", ".js"}
    assert assets <= set(wheel.namelist())


def test_wheel_declares_its_scripts(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    text = wheel.read(entry_points).decode()
    assert "[xdsl.universe]\nxir = xir.universe:XIR_UNIVERSE" in text
    for script in ("xir-opt", "xir-translate", "xir-explore", "xir-lsp", "xir-llm", "xir-tune", "xir-sweep", "xir-aot"):
        assert f"{script} = " in text


def test_core_dependencies_leave_torch_out(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    lines = wheel.read(metadata).decode().splitlines()
    required = [line.split(": ")[1] for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert {re.split("[<>=]", text)[0] for text in required} == {"xdsl", "numpy", "flatbuffers"}


def test_sdist_can_build_the_same_wheel(sdist: tarfile.TarFile) -> None:
    root = sdist.getnames()[0].split("/")[0]
    names = {name.removeprefix(f"{root}/") for name in sdist.getnames()}
    needed = committed("xir/*.py", "xir/schema/*", "backend_cpp/*") | {"pyproject.toml", "CMakeLists.txt", "LICENSE"}
    needed |= {f"xir/{name}" for name in committed("dialects/*.py", "transforms/*.py")}
    assert needed - names == set()
    links = [member.name for member in sdist.getmembers() if member.issym()]
    assert links == [], "a link may not survive unpacking; the sdist holds files"
