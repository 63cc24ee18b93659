"""Text encoders of transformers with padding masks: what is delegated, and whether the numbers are eager's.

The architectures are transformers' own, at small sizes and with random weights, exported with a batch and a length that
are fixed, and with open ones. Each program runs on texts of ten lengths, in xir's runtime and in stock ExecuTorch; the
errors are the largest, relative to the largest number of eager's output.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from bench.progress import step
from xir.api import ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.dialects.pte import KernelCallOp
from xir.runtime import Runtime

LENGTHS = (2, 3, 5, 8, 13, 16, 21, 32, 47, 64)
VOCABULARY, POSITIONS, MAX_BATCH = 1000, 80, 4
FIXED = (2, 64)
"""Batch and length where they are not open."""
SIZE = {"num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 96}
PADDING = 1


class Encoder(nn.Module):
    """The features of each token, and of the text where a model has them."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """Tokens i64 [batch, length], and 1 for each that is none of padding."""
        outputs: Any = self.model(input_ids=tokens, attention_mask=mask)
        pooled = getattr(outputs, "pooler_output", None)
        return (outputs.last_hidden_state,) if pooled is None else (outputs.last_hidden_state, pooled)


def bert(transformers: Any) -> Any:
    """BERT."""
    return transformers.BertModel(_config(transformers.BertConfig))


def distilbert(transformers: Any) -> Any:
    """DistilBERT, whose configuration has names of its own."""
    sizes = {"n_layers": 3, "dim": 64, "n_heads": 4, "hidden_dim": 96, "max_position_embeddings": POSITIONS}
    return transformers.DistilBertModel(transformers.DistilBertConfig(vocab_size=VOCABULARY, **sizes))


def roberta(transformers: Any) -> Any:
    """RoBERTa, which counts positions past padding."""
    return transformers.RobertaModel(_config(transformers.RobertaConfig, pad_token_id=PADDING))


def clip_text(transformers: Any) -> Any:
    """CLIP's text model, whose attention is causal as well."""
    return transformers.CLIPTextModel(_config(transformers.CLIPTextConfig, eos_token_id=2))


def modernbert(transformers: Any) -> Any:
    """ModernBERT, two of whose three layers attend to neighbours alone."""
    return transformers.ModernBertModel(_config(transformers.ModernBertConfig, local_attention=8, pad_token_id=PADDING))


def mpnet(transformers: Any) -> Any:
    """MPNet, with relative positions."""
    return transformers.MPNetModel(_config(transformers.MPNetConfig, pad_token_id=PADDING))


ENCODERS: Mapping[str, Callable[[Any], Any]] = {
    "BERT": bert,
    "DistilBERT": distilbert,
    "RoBERTa": roberta,
    "CLIP text": clip_text,
    "ModernBERT": modernbert,
    "MPNet": mpnet,
}


def _config(kind: Any, **options: Any) -> Any:
    return kind(vocab_size=VOCABULARY, max_position_embeddings=POSITIONS, **SIZE, **options)


def encoder(name: str) -> Encoder:
    """One of ENCODERS, at random."""
    from xir.llm.huggingface.checkpoint import import_transformers, quiet

    torch.manual_seed(0)
    with quiet():
        return Encoder(ENCODERS[name](import_transformers())).eval()


def texts(batch: int, length: int, words: int) -> tuple[Tensor, Tensor]:
    """A batch of texts, of which the first has so many words, and others fewer; the mask hides the padding."""
    counts = torch.tensor([max(words - 3 * number, 1) for number in range(batch)])
    mask = (torch.arange(length) < counts[:, None]).long()
    tokens = torch.randint(3, VOCABULARY, (batch, length))
    return torch.where(mask == 1, tokens, PADDING), mask


def exported(model: Encoder, *, is_open: bool) -> ExportedProgram:
    """With a fixed batch and length, or both open."""
    open_sizes = {0: Dim("batch", min=1, max=MAX_BATCH), 1: Dim("length", min=2, max=max(LENGTHS))}
    shapes = (open_sizes, open_sizes) if is_open else None
    with torch.no_grad():
        return torch.export.export(model, texts(*FIXED, FIXED[1]), dynamic_shapes=shapes)


def inputs(*, is_open: bool) -> Iterator[tuple[Tensor, Tensor]]:
    """Texts of each length: padded to the fixed one, or a batch of one to four with padding in its shorter ones."""
    for number, length in enumerate(LENGTHS):
        batch = 1 + number % MAX_BATCH
        yield texts(batch, length, length) if is_open else texts(*FIXED, length)


@dataclass(frozen=True)
class Result:
    """A row of the table."""

    name: str
    is_open: bool
    delegates: int
    kernels: list[str]
    """A name for each call outside of delegates."""
    error: float
    stock_error: float

    def __str__(self) -> str:
        sizes = "open" if self.is_open else "fixed"
        cells = (self.name, sizes, self.delegates, len(self.kernels), f"{self.error:.1e}", f"{self.stock_error:.1e}")
        return f"| {' | '.join(map(str, cells))} |"


def measure(name: str, *, is_open: bool) -> Result:
    """Compile one encoder, and run it in both runtimes."""
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    model = encoder(name)
    program = to_edge(exported(model, is_open=is_open)).to_backend(XnnpackPartitioner()).to_executorch()
    file = program.buffer
    method, stock = Runtime.get().load_program(file, threads=1).load_method(), _load_for_executorch_from_buffer(file)
    errors, stock_errors = list[float](), list[float]()
    for each in inputs(is_open=is_open):
        with torch.no_grad():
            expected = model(*each)
        errors.append(error(method.execute(each), expected))
        stock_errors.append(error(stock.forward(each), expected))
    kernels = kernel_calls(program)
    return Result(name, is_open, method.metadata.num_delegates, kernels, max(errors), max(stock_errors))


def kernel_calls(program: ExecutorchProgram) -> list[str]:
    """The kernels that a program calls outside of delegates; what counts sizes is none."""
    names = [op.kernel.data for op in program.module.walk() if isinstance(op, KernelCallOp)]
    return [name for name in names if not name.startswith(("executorch_prim::", "aten::sym_"))]


def error(found: Any, expected: tuple[Tensor, ...]) -> float:
    """The largest difference, relative to the largest number."""
    pairs = zip(found, expected, strict=True)
    return max(float((ours - theirs).abs().max() / theirs.abs().max()) for ours, theirs in pairs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.encoders", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ENCODERS)} (default: all)")
    parser.add_argument("--kernels", action="store_true", help="tell which kernels are outside of delegates")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in ENCODERS]:
        parser.error(f"there is no '{unknown[0]}', but {', '.join(ENCODERS)}")
    torch.set_num_threads(1)
    print("| model | sizes | delegates | kernels outside | error | error in ExecuTorch |\n|---|---|--:|--:|--:|--:|")
    for name in args.names or ENCODERS:
        for is_open in (False, True):
            with step(f"{name}, {'open' if is_open else 'fixed'}"):
                result = measure(name, is_open=is_open)
            print(result, flush=True)
            if args.kernels:
                print(f"  {', '.join(result.kernels)}")


if __name__ == "__main__":
    main()
