"""Caches in shorter types, and rings for layers that look back by a few tokens: logits of transformers' own caches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from llm.logits import PROMPT, error, expected, logits_of, stock_logits
from llm.tiny_models import write_family

from xir.api import EdgeProgram, XnnpackPartitioner
from xir.ir.remarks import RemarkFilter
from xir.llm import ExportOptions
from xir.llm.export import imported
from xir.runtime import Runtime

WINDOW, CHUNK, SLIDING, TOKENS = 64, 16, 8, 48
SLOTS = SLIDING + CHUNK - 1
"""Of a ring: every token of a call sees those before it. The texts here go round it twice."""
ERRORS = {"fp32": 1e-5, "fp16": 1e-3, "int8": 2e-2}
"""Of logits, in terms of their norm."""

Target = Literal["executorch", "xir"]


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A layer that looks back by 8 tokens, and one that sees all."""
    folder = tmp_path_factory.mktemp("Gemma3Text")
    return write_family("Gemma3Text", folder), folder


Compiled = tuple[Path, list[str]]
"""The model's file with caches of a type, and what was said of its attention."""
Compile = Callable[[str, Target], Compiled]


@pytest.fixture(scope="module")
def compiled(family: tuple[Any, Path]) -> Compile:
    """The model with caches of a type for a target, each exported and compiled once."""

    @cache
    def edge(cache_type: Any) -> EdgeProgram:
        return imported(family[1], ExportOptions(max_seq_len=WINDOW, prefill_len=CHUNK, cache_type=cache_type))[0]

    @cache
    def file(cache_type: str, target: Target) -> Compiled:
        path = family[1] / f"{target}_{cache_type}.pte"
        delegated = edge(cache_type).to_backend(
            XnnpackPartitioner(target), remarks=RemarkFilter.of("attend-live-prefix")
        )
        delegated.to_executorch().save(path)
        said = [remark.message for remark in delegated.remarks if "attention reads" in remark.message]
        return path, said

    return file


HALVES = pytest.param("fp16", marks=pytest.mark.exhaustive)
"""The caches of programs in fp16 (`test_halves.py`) are the same."""


@pytest.mark.parametrize("target", ["executorch", "xir"])
@pytest.mark.parametrize("cache_type", ["fp32", HALVES, "int8"])
def test_logits_are_near_those_of_fp32(
    family: tuple[Any, Path], compiled: Compile, cache_type: str, target: Target
) -> None:
    """Attention reads what has been written, of a ring too, while it fills; in both methods and layers."""
    model, _ = family
    path, said = compiled(cache_type, target)
    assert target == "xir" or [("the tokens that are there" in each) for each in said] == [True] * 4
    tokens, logits = expected(model, PROMPT, TOKENS)
    assert error(logits_of(path, PROMPT, tokens), logits) < ERRORS[cache_type]
    program = Runtime.get().load_program(path, threads=1)
    buffers = program.new_state().state_dict()
    dtype = {"fp32": torch.float32, "fp16": torch.float16, "int8": torch.int8}[cache_type]
    assert {name: (each.dtype, each.shape[2]) for name, each in buffers.items() if "_cache_" in name} == {
        f"{kind}_cache_{layer}": (dtype, slots)
        for kind in ("key", "value")
        for layer, slots in ((0, SLOTS), (1, WINDOW))
    }
    assert any("_scales_" in name for name in buffers) == (cache_type == "int8")
    kernels = program.metadata("decode").kernel_names
    assert ("xir::attend_prefix.out" in kernels) == (target == "xir")


@pytest.mark.parametrize("cache_type", [HALVES, "int8"])
def test_stock_runs_them(family: tuple[Any, Path], compiled: Compile, cache_type: str) -> None:
    model, _ = family
    tokens, logits = expected(model, PROMPT, TOKENS)
    found = stock_logits([*PROMPT, *tokens[:-1]], compiled(cache_type, "executorch")[0])
    assert error(found[len(PROMPT) - 1 :], logits) < ERRORS[cache_type]


def test_a_text_begins_anew(family: tuple[Any, Path], compiled: Compile) -> None:
    """After a ring went round, on the same caches: what is left there of the old text is not seen."""
    model, _ = family
    program = Runtime.get().load_program(compiled("fp32", "executorch")[0], threads=1)
    state = program.new_state()
    decode = program.load_method("decode", state=state)
    for position in range(40):
        decode.execute([torch.tensor([[9]]), torch.tensor([position])])
    tokens, logits = expected(model, PROMPT, 4)
    assert error(logits_of(program, PROMPT, tokens, state=state), logits) < ERRORS["fp32"]
