"""Models as Hugging Face's folders have them, made by transformers' own code."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.llm.errors import LlmError, first_line, required
from xir.llm.model_path import check_model_path
from xir.models.torchvision_operators import make_importable

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Checkpoint:
    """A model with its weights."""

    model: nn.Module
    """transformers' model for causal language modelling. Weights are mapped, in the type that the files have."""
    config: Any
    """Its configuration, of the text model."""
    max_positions: int | None
    """How many positions the model knows, where its configuration says so."""
    bos_id: int | None
    eos_ids: tuple[int, ...]


def load_checkpoint(folder: str | os.PathLike[str]) -> Checkpoint:
    """Load a folder with `config.json` and `.safetensors` files.

    Nothing is taken from elsewhere, and no code that the folder may have is run. LlmError for what it lacks.
    """
    path = Path(folder)
    check_model_path(path)
    if not any(path.glob("*.safetensors")):
        raise LlmError(f"{path}: no .safetensors file: weights in other formats are not read")
    transformers = import_transformers()
    with quiet():
        try:
            config = transformers.AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
            text = config.get_text_config(decoder=True)
            # Capped scores have no form in scaled_dot_product_attention; transformers' own attention has them.
            attention = "eager" if getattr(text, "attn_logit_softcapping", None) is not None else "sdpa"
            model, found = _model(path, config, attention, "auto")
            if any(buffer.is_floating_point() and buffer.itemsize < 4 for buffer in model.buffers()):
                # What the model computes beforehand is to be as exact as what the program computes.
                model, found = _model(path, config, attention, "float32")
        except Exception as error:  # transformers raises what it comes across
            raise LlmError(f"{path}: {_first_line(error)}") from error
    if missing := sorted(found["missing_keys"]):
        raise LlmError(f"{path}: weight '{missing[0]}' is missing, and {len(missing) - 1} others")
    generation = model.generation_config
    eos: Any = generation.eos_token_id if generation.eos_token_id is not None else text.eos_token_id
    bos: Any = generation.bos_token_id if generation.bos_token_id is not None else text.bos_token_id
    eos_ids = () if eos is None else tuple(eos) if isinstance(eos, list | tuple) else (int(eos),)
    return Checkpoint(model.eval(), text, getattr(text, "max_position_embeddings", None), bos, eos_ids)


def _model(path: Path, config: Any, attention: str, dtype: str) -> tuple[Any, dict[str, Any]]:
    """The model, and what became of the weights; with the dtype `auto` they are mapped."""
    return import_transformers().AutoModelForCausalLM.from_pretrained(
        path,
        config=config,
        dtype=dtype,
        attn_implementation=attention,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )


def import_transformers() -> Any:
    """The package. LlmError where it is not installed."""
    if find_spec("transformers") is None:
        raise LlmError("'transformers' is not installed: compiling a model needs xir[importer,llm]")
    make_importable()  # transformers imports torchvision where it is there
    with quiet():
        transformers: Any = required("transformers")
        transformers.utils.logging.disable_progress_bar()
        # Imported when first used, which is to be in here: torchao says with warnings what of itself it cannot load.
        _ = transformers.AutoModelForCausalLM, transformers.PreTrainedModel
    return transformers


@contextmanager
def quiet() -> Generator[None]:
    """Neither logs nor warnings meanwhile: what fails is said anyway."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _first_line(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"damaged JSON: {error}"
    return first_line(error)
