"""Language models: from a Hugging Face folder to one file, and from the file to text.

    xir.llm.export("SmolLM2-135M", "smollm.pte", ExportOptions(quantize="int4", max_seq_len=2048))
    model = xir.llm.load("smollm.pte", tokenizer="SmolLM2-135M")
    for piece in model.stream("Once upon a time"):
        print(piece, end="", flush=True)

Exporting needs torch and transformers (`xir[importer,llm]`); running needs neither.
"""

from __future__ import annotations

from xir.llm.errors import LlmError
from xir.llm.export import ExportOptions, export
from xir.llm.generation import Generation, GenerationStream, LanguageModel, Speed, load
from xir.llm.metadata import Metadata
from xir.llm.perplexity import Perplexity, perplexity
from xir.llm.sampling import Sampling
from xir.llm.texts import Calibration, calibration_of
from xir.llm.tokenizer import Message, Tokenizer

__all__ = [
    "Calibration",
    "ExportOptions",
    "Generation",
    "GenerationStream",
    "LanguageModel",
    "LlmError",
    "Message",
    "Metadata",
    "Perplexity",
    "Sampling",
    "Speed",
    "Tokenizer",
    "calibration_of",
    "export",
    "load",
    "perplexity",
]
