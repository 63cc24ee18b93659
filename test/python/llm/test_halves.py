"""Activations of 16 bits: logits as near to those of fp32 as PyTorch's own in the same type, summed alike."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import executorch.kernels.quantized  # pyright: ignore[reportUnusedImport]  # noqa: F401  # stock's look-ups in tables
import pytest
import torch
from llm.logits import PROMPT, logits_of, stock_logits
from llm.tiny_models import write_family
from reference.halves import SumsInHalves
from torch import Tensor

from xir.evaluate.processor import adds_in_half
from xir.llm import ExportOptions, LanguageModel, Sampling, export
from xir.llm.huggingface.cached_decoder import CachedDecoder
from xir.llm.huggingface.caches import CacheType
from xir.llm.huggingface.quantization import Mode, quantize
from xir.runtime import Runtime

REST, WINDOW = [140, 77, 31, 5, 12, 0], 32
"""Behind the prompt; the last one ends the text."""
TOKENS = [*PROMPT, *REST[:-1]]

Dtype = Literal["fp32", "fp16", "bf16"]
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
Form = tuple[str, Literal["fp16", "bf16"], Mode, Literal["executorch", "xir"]]

QUICK: list[Form] = [
    ("Llama", "fp16", "none", "xir"),
    ("Qwen2", "bf16", "none", "executorch"),
    ("Llama", "fp16", "int4", "executorch"),
    ("Llama", "bf16", "int8", "executorch"),
]
"""The family, the type of activations, the weights, and the runtime: each of them."""

MORE: list[Form] = [
    ("Llama", "fp16", "none", "executorch"),
    ("Llama", "bf16", "none", "xir"),
    ("Gemma3Text", "fp16", "none", "xir"),
    ("Gemma3Text", "bf16", "int4", "executorch"),
    ("Qwen2", "fp16", "int8", "xir"),
]
"""More pairs of them."""


@dataclass
class Case:
    path: Path
    wide: Tensor
    """Logits of the model with the same weights, quantised if they are, in fp32."""
    bound: float
    """Twice as far as PyTorch's own logits are from them, with the model in the type of the file; where XNNPACK adds
    halves up in halves, as far as those with sums that do."""


@pytest.fixture(
    scope="module", params=[*QUICK, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in MORE)], ids="-".join
)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    family, dtype, mode, target = request.param
    folder = tmp_path_factory.mktemp("model")
    model = write_family(family, folder)
    export(folder, folder / "model.pte", ExportOptions(mode, max_seq_len=WINDOW, target=target, dtype=dtype))
    wide, short = graph_logits(model, mode, torch.float32), graph_logits(model, mode, DTYPES[dtype])
    nearest = [short]
    if dtype == "fp16" and adds_in_half():
        with SumsInHalves():
            nearest.append(graph_logits(model, mode, torch.float16))
    return Case(folder / "model.pte", wide, 2 * max(float((each - wide).norm()) for each in nearest))


def graph_logits(model: Any, mode: Mode, dtype: torch.dtype) -> Tensor:
    """PyTorch's logits behind the prompt and behind each token after it."""
    model = deepcopy(model)
    quantize(model, mode, 32, dtype=dtype)
    graph = CachedDecoder(model, model.config, WINDOW).eval()
    with torch.no_grad():
        rows = [
            graph(torch.tensor([TOKENS[:end]]), torch.arange(end))[:, 0] for end in range(len(PROMPT), len(TOKENS) + 1)
        ]
    return torch.cat(rows)


def test_logits_are_as_near_as_those_of_pytorch(case: Case) -> None:
    found = logits_of(case.path, PROMPT, REST)
    assert found.dtype == torch.float32
    assert float((found - case.wide).norm()) <= case.bound


def test_stock_computes_the_same(case: Case) -> None:
    if b"xir::attend_prefix" in case.path.read_bytes():
        return  # by the target, not by the type
    assert float((stock_logits(TOKENS, case.path)[len(PROMPT) - 1 :] - case.wide).norm()) <= case.bound


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Dtype, CacheType | None], Path]:
    """A model's file with activations and caches of a type, made once."""
    folder = tmp_path_factory.mktemp("model")
    write_family("Llama", folder, tie_word_embeddings=False, num_hidden_layers=1)

    @cache
    def file(dtype: Dtype, cache_type: CacheType | None) -> Path:
        path = folder / f"{dtype}_{cache_type}.pte"
        export(folder, path, ExportOptions(max_seq_len=WINDOW, dtype=dtype, cache_type=cache_type))
        return path

    return file


@pytest.mark.parametrize(
    ("dtype", "cache_type"),
    [
        ("fp16", None),
        pytest.param("bf16", "fp32", marks=pytest.mark.exhaustive),
        pytest.param("bf16", None, marks=pytest.mark.exhaustive),
        pytest.param("fp16", "int8", marks=pytest.mark.exhaustive),
        pytest.param("fp16", "fp32", marks=pytest.mark.exhaustive),
        pytest.param("bf16", "int8", marks=pytest.mark.exhaustive),
    ],
)
def test_programs_are_those_of_fp32(
    dtype: Literal["fp16", "bf16"],
    cache_type: Literal["fp32", "int8"] | None,
    exported: Callable[[Dtype, CacheType | None], Path],
) -> None:
    """Not one kernel more, half of the weights, and caches of the same type unless told otherwise."""
    short_path, wide_path = exported(dtype, cache_type), exported("fp32", cache_type or "fp32")
    wide, short = (Runtime.get().load_program(path) for path in (wide_path, short_path))
    for name in ("prefill", "decode"):
        assert short.metadata(name).kernel_names == wide.metadata(name).kernel_names
    caches = {each.dtype for name, each in short.new_state().state_dict().items() if "_cache_" in name}
    assert caches == {{None: DTYPES[dtype], "fp32": torch.float32, "int8": torch.int8}[cache_type]}
    assert short_path.stat().st_size < 0.7 * wide_path.stat().st_size
    answer = LanguageModel(short_path, None, 1).generate([1, 5, 9], Sampling(), max_new_tokens=4)
    assert len(answer.tokens) == 4 or answer.reason == "stop"
