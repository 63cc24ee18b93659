"""What a model may come in: a folder of Hugging Face's, or a GGUF file."""

from __future__ import annotations

import os
from pathlib import Path

from xir.llm.huggingface.checkpoint import Checkpoint, load_checkpoint
from xir.llm.huggingface.gguf_model import load_gguf


def load_model(source: str | os.PathLike[str]) -> Checkpoint:
    """Load a folder with `config.json` and `.safetensors` files, or a `.gguf` file. LlmError for what it lacks."""
    return load_gguf(source) if Path(source).suffix == ".gguf" else load_checkpoint(source)
