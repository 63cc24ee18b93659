"""RXNMapper: which atom of the product was which one before a reaction, by one of ALBERT's attention maps."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import torch
from torch import Tensor, nn

from bench.trained.tasks import Task, package_folder
from xir.llm.huggingface.checkpoint import import_transformers

_LAYER, _HEAD = 10, 5
"""The map that the package reads."""
_LENGTH = 48
"""Tokens of a reaction, with the first and the last mark."""
_COUNTS = 16, 64
"""Reactions to calibrate with, and to compare."""
_TOKEN = re.compile(r"\[[^\]]+\]|Br|Cl|>>|%\d\d|.")
_RESTS = (
    "CC", "CCC", "CCCC", "CC(C)C", "CC(C)", "COCC", "c1ccccc1", "Cc1ccc(C)cc1", "FC(F)(F)C", "c1ccncc1", "N#CCC",
    "CSCC", "C1CCCCC1", "COc1ccccc1", "Clc1ccccc1", "CCOC(=O)C", "c1ccsc1", "O=C1CCCC1", "CN(C)CC", "C=CC",
)  # fmt: skip
"""What both partners bring along, bound by its last atom."""
_BACKWARD = "CC", "CCC", "C(C)C", "CCOC", "c1ccccc1", "CCF", "CC#N", "C1CCCC1", "CCSC", "Cc1ccccc1", "CCN(C)C", "CC=C"
"""The same, bound by its first atom."""
_KINDS = (
    ("C(=O)O", "C(=O)", "N"),
    ("C(=O)Cl", "C(=O)", "N"),
    ("C(=O)O", "C(=O)", "O"),
    ("CBr", "C", "O"),
    ("CBr", "C", "N"),
    ("S(=O)(=O)Cl", "S(=O)(=O)", "N"),
)
"""The end of one partner, what of it stays, and the atom of the other that it binds: amides, esters, ethers, amines,
sulfonamides."""


class Attention(nn.Module):
    """Tokens i64 [1, n] -> what each looks at, f32 [1, n, n], rows of sum 1."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model: Any = model

    def forward(self, tokens: Tensor) -> Tensor:
        """The attention map."""
        return self.model(input_ids=tokens, output_attentions=True).attentions[_LAYER][:, _HEAD]


def task() -> Task:
    """Reactions of two partners whose atoms keep their order, so that the map of the product's atoms is known."""
    folder = package_folder("rxnmapper", "rxnmapper") / "models" / "transformers" / "albert_heads_8_uspto_all_1310k"
    transformers = import_transformers()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    names = [name for name in config if name.endswith(("_size", "_heads", "_layers", "_groups", "_num", "_embeddings"))]
    model = transformers.AlbertModel(
        transformers.AlbertConfig(
            **{name: config[name] for name in [*names, "hidden_act", "layer_norm_eps"]}, attn_implementation="eager"
        )
    ).eval()
    weights = torch.load(folder / "pytorch_model.bin", "cpu", weights_only=True)
    found = {name.removeprefix("albert."): weight for name, weight in weights.items() if name.startswith("albert.")}
    missing, _ = model.load_state_dict(found, strict=False)
    assert set(missing) <= {"embeddings.position_ids", "embeddings.token_type_ids"}, missing
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    numbers = {token: number for number, token in enumerate(vocabulary)}
    choose = random.Random(0)
    seen = set[str]()
    calibration, held_out = ([_reaction(choose, seen) for _ in range(count)] for count in _COUNTS)
    maps = torch.stack([truth for _, truth in held_out])

    def right(outputs: Tensor) -> float:
        return float((_answers(outputs, maps) == maps)[maps >= 0].float().mean())

    def inputs(reactions: list[tuple[list[str], Tensor]]) -> list[tuple[Tensor, ...]]:
        return [(torch.tensor([[numbers[token] for token in tokens]]),) for tokens, _ in reactions]

    return Task(
        "RXNMapper", Attention(model).eval(), inputs(calibration), inputs(held_out), are_logits=False,
        metric="atoms right", truth=right, answers=lambda outputs: _answers(outputs, maps)[maps >= 0],
        agreement="equal atoms", modes=("static", "dynamic"),
    )  # fmt: skip


def _answers(outputs: Tensor, maps: Tensor) -> Tensor:
    """The atom before the reaction that each token [reactions, n] looks at most. The product's are not asked."""
    before = torch.arange(_LENGTH) < (maps >= 0).double().argmax(1)[:, None]
    return outputs.masked_fill(~before[:, None, :], -1).argmax(-1)


def _reaction(choose: random.Random, seen: set[str]) -> tuple[list[str], Tensor]:
    """Tokens, and for each of the product's atoms the token that it was [n]; −1 for others. None of those seen."""
    while True:
        first, second = "".join(choose.sample(_RESTS, 1)), choose.choice(_BACKWARD)
        left, kept, bound = choose.choice(_KINDS)
        solvent = choose.choice(("CN(C)C=O", "C1CCOC1", "ClCCl", "CCO", "CC#N", "c1ccncc1", "O"))
        others = choose.sample(("[Na+]", "[OH-]", "Cl", "CCN(CC)CC", "[K+]", "O=C([O-])[O-]"), choose.randint(0, 3))
        partners = _tokens(first + left), _tokens(bound + second)
        product = _tokens(first + kept + bound + second)
        tokens = [
            "[CLS]",
            *partners[0],
            ".",
            *partners[1],
            *_tokens("".join(f".{each}" for each in (solvent, *others))),
        ]
        start = len(tokens) + 1
        tokens += [">>", *product, "[SEP]"]
        text = "".join(tokens)
        if len(tokens) != _LENGTH or text in seen:
            continue
        seen.add(text)
        head = len(_tokens(first + kept))
        found = torch.full((_LENGTH,), -1)
        for index, token in enumerate(product):
            if token[0].isalpha() or token[0] == "[":
                found[start + index] = 1 + index if index < head else 2 + len(partners[0]) + index - head
        return tokens, found


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)
