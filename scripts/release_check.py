"""`make release-check`: names everything that a release lacks.

Looks at the files' versions, the notes, the licences, the wheels in `dist` and the site.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import wheel_xnnpack
from make_wheel import PROCESSORS

ROOT = Path(__file__).parents[1]
LICENSES = (*wheel_xnnpack.LICENSES, "executorch", "KleidiAI")
"""What a wheel holds the licences of."""

SITE = ROOT / "build" / "site" / "html" / "index.html"

VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "editors/vscode/package.json": r'"version": "([^"]+)"',
    "CHANGELOG.md": r"^## (?:Unreleased: )?(\S+)",
}
"""Where a file has the version, beside xir/__init__.py."""


def read(path: str) -> str:
    """A file of the tree; "" if there is none."""
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def found(path: str, pattern: str) -> str:
    """What a pattern's group is in a file; "" if it is nowhere."""
    match = re.search(pattern, read(path), re.MULTILINE)
    return match[1] if match else ""


def problems() -> Iterator[str]:
    """What is missing or does not fit, a line each."""
    version = found("xir/__init__.py", r'^__version__ = "(.*)"$')
    for path, pattern in VERSIONS.items():
        if (other := found(path, pattern)) != version:
            yield f"{path} has version '{other}', xir/__init__.py has '{version}'"
    if "Unreleased" in read("CHANGELOG.md").partition(f" {version}")[0]:
        yield f"CHANGELOG.md calls {version} unreleased"
    notes = f"docs/release_{version.rpartition('.')[0]}.md"
    if version not in read(notes):
        yield f"{notes} has no notes of {version}"
    yield from (f"{path} is missing" for path in ("LICENSE", "SECURITY.md", "CITATION.cff") if not read(path))
    for processor in PROCESSORS:
        yield from wheel_problems(version, processor)
    if not SITE.is_file():
        yield "there is no site: make site"
    changed = subprocess.run(["git", "status", "--short"], cwd=ROOT, check=False, capture_output=True, text=True).stdout
    if changed:
        yield f"{len(changed.splitlines())} files are not committed"


def wheel_problems(version: str, processor: str) -> Iterator[str]:
    """What the wheels of a processor lack."""
    wheels = list((ROOT / "dist").glob(f"xir-{version}-*-manylinux_2_28_{processor}.whl"))
    if not wheels:
        yield f"dist has no wheel of {version} for {processor}: make wheel"
    for wheel in wheels:
        names = set(zipfile.ZipFile(wheel).namelist())
        for license in LICENSES:
            if f"xir/lib/xnnpack/licenses/{license}" not in names:
                yield f"{wheel.name} lacks the licence of {license}"


def main() -> None:
    """Print what is missing; the exit code is 1 if anything is."""
    lines = list(problems())
    for line in lines:
        print(f"release-check: {line}")
    if lines:
        sys.exit(1)
    print("The release is whole")


if __name__ == "__main__":
    main()
