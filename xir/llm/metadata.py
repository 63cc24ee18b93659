"""The metadata of a file's model: constant methods, with the names that ExecuTorch's runners use.

The names are those of ExecuTorch's extension/llm/runner/constants.h, and so are those of the two methods that compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xir.llm.errors import LlmError

if TYPE_CHECKING:
    from xir.api import Constant
    from xir.runtime import Program

PREFILL = "prefill"
"""(tokens i64 [1, S], positions i64 [S]) -> logits of the last token, f32 [1, 1, vocabulary]; S is at least 2.

Positions follow one another. Keys and values are written at them, and what lies behind them is not read."""
DECODE = "decode"
"""The same for S = 1."""


@dataclass(frozen=True)
class Metadata:
    """The properties of a model that its file records."""

    max_context_len: int
    """How many tokens the caches hold: prompt and answer together."""
    max_seq_len: int
    """How many tokens `prefill` takes at once."""
    vocab_size: int
    bos_id: int | None
    """The token that a text begins with, if the model has one."""
    eos_ids: tuple[int, ...]
    """The tokens that end an answer."""

    def constant_methods(self) -> dict[str, Constant]:
        """The results of the constant methods, by name."""
        found: dict[str, Constant] = {
            "get_max_seq_len": self.max_seq_len,
            "get_max_context_len": self.max_context_len,
            "get_vocab_size": self.vocab_size,
            "use_kv_cache": True,
            "use_sdpa_with_kv_cache": False,
            "enable_dynamic_shape": True,
        }
        if self.bos_id is not None:
            found["get_bos_id"] = self.bos_id
        if self.eos_ids:
            found["get_eos_ids"] = list(self.eos_ids)
        return found


def read_metadata(program: Program, name: str) -> Metadata:
    """The metadata of a loaded file. LlmError, which begins with `name`, if it is not a language model's."""
    names = program.method_names

    def numbers(method: str) -> Sequence[int]:
        values = program.load_method(method).execute([])
        if not all(isinstance(value, int) for value in values):
            raise LlmError(f"{name}: '{method}' answers {values[0]!r}, not a whole number")
        return cast("Sequence[int]", values)

    for method in (PREFILL, DECODE, "get_max_seq_len", "get_max_context_len", "get_vocab_size"):
        if method not in names:
            raise LlmError(f"{name}: no method '{method}': this is no file of `xir-llm export`")
    return Metadata(
        max_context_len=numbers("get_max_context_len")[0],
        max_seq_len=numbers("get_max_seq_len")[0],
        vocab_size=numbers("get_vocab_size")[0],
        bos_id=numbers("get_bos_id")[0] if "get_bos_id" in names else None,
        eos_ids=tuple(numbers("get_eos_ids")) if "get_eos_ids" in names else (),
    )
