"""The command line of a script that writes one generated file."""

import argparse
import sys
from pathlib import Path


def write_or_check(file: Path, text: str, description: str | None) -> int:
    """Write a file unless it is as it should be; with `--check` only say so. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"{file.name} is not up to date: run `make generate`", file=sys.stderr)
        return 1
    file.write_text(text, encoding="utf-8")
    print(f"wrote {file.name}")
    return 0
