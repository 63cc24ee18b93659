"""Commands that have to succeed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]


def output_of(*command: str, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> str:
    """What a command prints; what it printed to both streams is the failure's message if it does not exit with 0."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
