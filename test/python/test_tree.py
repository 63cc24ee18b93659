"""The tree speaks of the project alone: no path of somebody's machine, no host that the project does not mean."""

import re
from functools import cache
from pathlib import Path

from reference.commands import output_of

ROOT = Path(__file__).parents[2]
MACHINE_PATH = re.compile(r"(?<![\w.}-])/(?:home|root|Users|work|opt|mnt|tmp)/[\w.]+")
URL_HOST = re.compile(r"https?://([\w.-]+)")
HOSTS = {
    "docs.pytorch.org",
    "download.pytorch.org",  # the CPU builds of torch
    "flatbuffers.dev",
    "github.com",
    "llvm.org",
    "localhost",  # the browser's driver
    "mlir.llvm.org",
    "pytorch.org",
    "semver.org",
    "keepachangelog.com",
    "ui.perfetto.dev",  # shows traces
    "www.apache.org",  # the licence
    "www.w3.org",  # SVG's namespace, and how browsers are driven
}


FUZZER_INPUTS = "backend_cpp/fuzz/corpus/"
"""Bytes that are no text, even those without a zero."""


@cache
def text_files() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in filter(None, output_of("git", "ls-files", "-z").split("\0")):
        path = ROOT / name
        if path.is_symlink() or not path.is_file() or name.startswith(FUZZER_INPUTS):
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            found[name] = data.decode("utf-8")
    return found


def matches(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    return [(name, match[0]) for name, text in text_files().items() for match in pattern.finditer(text)]


def test_no_machine_paths() -> None:
    assert matches(MACHINE_PATH) == []


def test_only_known_hosts() -> None:
    unknown = [(name, url) for name, url in matches(URL_HOST) if url.split("//")[1] not in HOSTS]
    assert unknown == []


def test_source_lines_end_plainly() -> None:
    wrong = [
        name
        for name, text in text_files().items()
        if name.endswith((".py", ".cc", ".h", ".md", ".mlir", ".txt", ".toml")) and text
        if "\r" in text or not text.endswith("\n") or "\t" in text
    ]
    assert wrong == []


def test_dialects_and_transforms_are_links() -> None:
    for name in ("dialects", "transforms"):
        assert (ROOT / "xir" / name).is_symlink()
        assert (ROOT / "xir" / name).resolve() == ROOT / name
