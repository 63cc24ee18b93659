"""From a model's folder to a `.pte` file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xir.ir.targets import Target
from xir.llm.errors import LlmError, first_line
from xir.llm.metadata import DECODE, PREFILL, Metadata
from xir.memory import return_freed_memory
from xir.progress import step

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xir.api import EdgeProgram, ExecutorchProgram
    from xir.llm.huggingface.cached_decoder import CachedDecoder
    from xir.llm.texts import Calibration

DEFAULT_WINDOW = 2048
DEFAULT_CHUNK = 512
"""Tokens that `prefill` takes at once unless told: the memory for activations grows with it, the speed hardly."""


@dataclass(frozen=True)
class ExportOptions:
    """How to compile a model. Raises LlmError for invalid or contradictory values."""

    quantize: Literal["none", "int8", "int4"] = "none"
    """The weights of linear layers: fp32, 8 bits with a scale a channel, or 4 bits with a scale a group."""
    group_size: int = 32
    """How many inputs of a channel, or elements of an embedding's row, share a scale in 4 bits."""
    max_seq_len: int | None = None
    """How many tokens the caches hold, prompt and answer together; if None, as many as the model knows positions, up to
    `DEFAULT_WINDOW`."""
    prefill_len: int | None = None
    """How many tokens of a prompt are computed at once, up to `DEFAULT_CHUNK` if None; longer prompts are split."""
    target: Target = "executorch"
    """The runtime that the file is for; a file for `executorch` runs in both."""
    quantize_embedding: Literal["none", "int8", "int4"] | None = None
    """The embeddings: fp32, 8 bits with a scale a row, or 4 bits with a scale a group; if None, 8 bits where linear
    layers are quantised."""

    cache_type: Literal["fp32", "fp16", "bf16", "int8"] | None = None
    """The elements of the caches; in 8 bits each token has a scale for each head. If None, those of activations."""
    dtype: Literal["fp32", "fp16", "bf16"] = "fp32"
    """The elements of activations, and of weights that are not quantised."""
    max_bytes: int | None = None
    """With 4 bits and calibration: the linear layers that 4 bits hurt most get 8, as long as all weights take at most
    so many bytes."""

    def __post_init__(self) -> None:
        for name, value in (("max-seq-len", self.max_seq_len), ("prefill-len", self.prefill_len)):
            if value is not None and value < 2:
                raise LlmError(f"{name} must be 2 or more, not {value}")
        if self.group_size <= 0 or self.group_size % 32:
            raise LlmError(f"the group size must be a multiple of 32, not {self.group_size}")

    def window(self, max_positions: int | None) -> int:
        """How many tokens the caches of a model of so many positions hold. LlmError if that is fewer than asked for."""
        if self.max_seq_len is None:
            return DEFAULT_WINDOW if max_positions is None else min(DEFAULT_WINDOW, max_positions)
        if max_positions is not None and self.max_seq_len > max_positions:
            raise LlmError(f"the model knows {max_positions} positions: give --max-seq-len {max_positions} or less")
        return self.max_seq_len

    def chunk(self, window: int) -> int:
        """The length of `prefill` for caches of so many tokens. LlmError if it is longer than they are."""
        if self.prefill_len is None:
            return min(DEFAULT_CHUNK, window)
        if self.prefill_len > window:
            raise LlmError(f"prefill-len must be at most {window}, which the caches hold, not {self.prefill_len}")
        return self.prefill_len


def export(
    folder: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: ExportOptions | None = None,
    *,
    weights_apart: bool = False,
    calibration: Calibration | None = None,
) -> Metadata:
    """Compile the model of a folder (`config.json`, `.safetensors`), or of a `.gguf` file, to the file `output`; return
    its metadata.

    The file has the methods `prefill` and `decode`, which share weights and caches, and the metadata that ExecuTorch's
    runners ask for. With `weights_apart`, its weights are in a `.ptd` file with the same name. With `calibration`,
    4-bit weights are rounded for its text, and it gets the model's perplexity before and after. Raises LlmError
    for a folder without such a model; DiagnosticError, with the line of its Python, for one that cannot be compiled;
    OSError if a file cannot be written.
    """
    program, metadata = compiled(folder, options or ExportOptions(), calibration)
    with step(f"Writing {os.fspath(output)}"):
        program.save(output, weights_apart=weights_apart)
    return metadata


def compiled(
    folder: str | os.PathLike[str], options: ExportOptions, calibration: Calibration | None = None
) -> tuple[ExecutorchProgram, Metadata]:
    """The program of a model's folder, and its metadata. Errors are those of `export`."""
    from xir.api import XnnpackPartitioner

    edge, metadata = imported(folder, options, calibration)
    with step("Compiling"):
        return edge.to_backend(XnnpackPartitioner(options.target)).to_executorch(), metadata


def imported(
    folder: str | os.PathLike[str], options: ExportOptions, calibration: Calibration | None = None
) -> tuple[EdgeProgram, Metadata]:
    """The methods of a model's folder, and its metadata. Errors are those of `export`."""
    found = _imported(folder, options, calibration)
    # What PyTorch held of the model is gone now; its weights stay where they are.
    return_freed_memory()
    return found


def _imported(
    folder: str | os.PathLike[str], options: ExportOptions, calibration: Calibration | None
) -> tuple[EdgeProgram, Metadata]:
    import torch

    from xir.api import to_edge
    from xir.llm.huggingface.cached_decoder import CachedDecoder
    from xir.llm.huggingface.calibration import perplexity_of
    from xir.llm.huggingface.quantization import quantize
    from xir.llm.huggingface.rotary import fix_frequencies
    from xir.llm.huggingface.sources import load_model
    from xir.torch_threads import one_thread

    with step("Loading the model"):
        checkpoint = load_model(folder)
    window = options.window(checkpoint.max_positions)
    chunk = options.chunk(window)
    fix_frequencies(checkpoint.model, window)
    with step("Quantising"), one_thread():
        dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[options.dtype]
        texts = calibration.seen if calibration is not None else ()
        if calibration is not None:
            checkpoint.model.float()
            calibration.before = perplexity_of(checkpoint.model, calibration.held_out)
        wide = quantize(
            checkpoint.model, options.quantize, options.group_size, options.quantize_embedding, dtype, texts,
            options.max_bytes,
        )  # fmt: skip
        if calibration is not None:
            calibration.in_8_bits = wide
            calibration.after = perplexity_of(checkpoint.model, calibration.held_out)
    with step("Exporting"):
        cache_type = options.cache_type or options.dtype
        programs = exported(CachedDecoder(checkpoint.model, checkpoint.config, window, chunk, cache_type), chunk)
    metadata = Metadata(
        max_context_len=window,
        max_seq_len=chunk,
        vocab_size=checkpoint.config.vocab_size,
        bos_id=checkpoint.bos_id,
        eos_ids=checkpoint.eos_ids,
    )
    with step("Importing"):
        return to_edge(programs, constant_methods=metadata.constant_methods()), metadata


def exported(decoder: CachedDecoder, chunk: int) -> dict[str, ExportedProgram]:
    """The two methods: a prompt of 2 to `chunk` tokens, and one token. LlmError where torch cannot export the model."""
    import torch
    from torch.export import Dim

    from xir.llm.huggingface.checkpoint import quiet

    length = Dim("length", min=2, max=chunk)
    prompt = torch.zeros(1, 2, dtype=torch.int64), torch.arange(2)
    token = torch.zeros(1, 1, dtype=torch.int64), torch.arange(1)
    try:
        with torch.no_grad(), quiet():
            return {
                PREFILL: torch.export.export(decoder, prompt, dynamic_shapes=({1: length}, {0: length})),
                DECODE: torch.export.export(decoder, token),
            }
    except Exception as error:  # torch raises what it comes across
        name = type(decoder.model).__name__
        raise LlmError(f"torch.export cannot export {name}: {first_line(error)}") from error
