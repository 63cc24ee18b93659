"""Where a model is: known before anything is imported that reads one."""

from __future__ import annotations

import os
from pathlib import Path

from xir.llm.errors import LlmError


def check_model_path(path: str | os.PathLike[str]) -> None:
    """LlmError unless there is a `.gguf` file, or a folder with `config.json`."""
    if Path(path).suffix == ".gguf":
        if not Path(path).is_file():
            raise LlmError(f"{path}: no such file")
    elif not (Path(path) / "config.json").is_file():
        raise LlmError(
            f"{path}: no config.json: a folder of Hugging Face's with config.json and .safetensors is expected"
        )
