"""Errors for invalid models, files and tokenizers."""

from __future__ import annotations

import importlib
from types import ModuleType


class LlmError(Exception):
    """An error of one line: what is wrong, where, and what to do about it."""


def required(name: str) -> ModuleType:
    """A module of a package that only language models need. LlmError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        raise LlmError(f"'{package}' is not installed: this needs xir[llm]") from error


def first_line(error: Exception) -> str:
    """What an error of torch's or transformers' says, as part of a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
