"""How much of lowering is writing FlatBuffers: the file's, and for each check and delegate a graph's.

Processor time of one process; medians of ROUNDS.
"""

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any

import torch

from bench.lowering import lowered
from bench.models import named_model
from bench.progress import step
from xir.emitter import codec
from xir.emitter.fbs import FileSchema


class Clock:
    """`encode`, with the time that it took."""

    def __init__(self) -> None:
        self.encode = codec.encode
        self.seconds, self.calls, self.size = 0.0, 0, 0

    def __call__(self, schema: FileSchema, tree: Mapping[str, Any], root: str | None = None) -> bytes:
        start = time.process_time()
        written = self.encode(schema, tree, root)
        self.seconds += time.process_time() - start
        self.calls += 1
        self.size += len(written)
        return written

    def install(self) -> None:
        """Take the place of `encode` in all modules that are loaded."""
        for module in [*sys.modules.values()]:
            if module.__name__.startswith("xir.") and getattr(module, "encode", None) is self.encode:
                vars(module)["encode"] = self


def main() -> None:
    """Lower some models."""
    parser = argparse.ArgumentParser(prog="python -m bench.encoding", description=__doc__)
    parser.add_argument("models", nargs="*", default=["mv2", "mv3", "vit", "llama2", "mobilebert"])
    parser.add_argument("--rounds", type=int, default=9, help="of each model (default: 9)")
    args = parser.parse_args()
    clock = Clock()
    table = ["", "| model | lowering, s | encoding, ms | share | FlatBuffers | bytes |", "|---|---|---|---|---|---|"]
    for reference in args.models:
        with step(f"Lowering {reference}"):
            name, model, inputs = named_model(reference)
            exported = torch.export.export(model, inputs)
            lowered(exported)
            clock.install()
            rounds: list[tuple[float, float]] = []
            for _ in range(args.rounds):
                gc.collect()
                clock.seconds, clock.calls, clock.size = 0.0, 0, 0
                start = time.process_time()
                lowered(exported)
                rounds.append((time.process_time() - start, clock.seconds))
        total, encoding = map(statistics.median, zip(*rounds, strict=True))
        share = f"{100 * encoding / total:.1f} %"
        table.append(f"| {name} | {total:.2f} | {1000 * encoding:.0f} | {share} | {clock.calls} | {clock.size} |")
    print(*table, sep="\n")


if __name__ == "__main__":
    main()
