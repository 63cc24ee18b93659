"""AttaCut: where words begin in Thai, which is written without spaces, of sentences whose words are known."""

from __future__ import annotations

import json
import random
from pathlib import Path

import torch
from torch import Tensor, nn

from bench.trained.tasks import Task, package_folder

_LENGTH = 64
"""Characters of an input."""
_COUNTS = 16, 64
"""Inputs to calibrate with, and to compare."""
_WHO = "ผม", "เขา", "เด็ก", "ครู", "แม่", "พ่อ", "เพื่อน", "หมอ", "นักเรียน", "ชาวนา", "น้องสาว", "เรา"
_DOES = "กิน", "ซื้อ", "ขาย", "ชอบ", "เห็น", "ทำ", "หา", "ใช้", "อยากได้", "เอา"
_WHAT = "ข้าว", "ปลา", "ผลไม้", "หนังสือ", "น้ำ", "ขนม", "เสื้อ", "รองเท้า", "รถยนต์", "ไข่", "กล้วย", "นม"
_HOW = "ใหม่", "เก่า", "ดี", "สวย", "ใหญ่", "เล็ก", "แพง", "ถูก"
_WHERE = "บ้าน", "ตลาด", "โรงเรียน", "โรงพยาบาล", "ร้าน", "เมือง", "ห้อง", "วัด"
_WHEN = "วันนี้", "พรุ่งนี้", "เมื่อวาน", "ตอนเช้า", "ทุกวัน"


class Attacut(nn.Module):
    """Characters i64 [1, n] -> logits [1, n] of a word beginning there."""

    def __init__(self, characters: int):
        super().__init__()
        self.embeddings = nn.Embedding(characters, 48)
        self.conv1 = nn.Conv1d(48, 196, 3, padding=1)
        self.conv2 = nn.Conv1d(48, 196, 5, padding=6, dilation=3)
        self.conv3 = nn.Conv1d(48, 196, 9, padding=8, dilation=2)
        self.linear1 = nn.Linear(196, 32)
        self.linear2 = nn.Linear(32, 1)

    def forward(self, characters: Tensor) -> Tensor:
        """The logits."""
        x = self.embeddings(characters).transpose(1, 2)
        x = torch.maximum(torch.maximum(self.conv1(x), self.conv2(x)), self.conv3(x))
        return self.linear2(torch.relu(self.linear1(x.transpose(1, 2))))[..., 0]


def task() -> Task:
    """Sentences of frequent words, in every order that Thai allows for who, does, what, where and when."""
    folder = package_folder("attacut", "attacut") / "artifacts" / "attacut-c"
    numbers: dict[str, int] = json.loads((folder / "characters.json").read_text(encoding="utf-8"))
    choose = random.Random(0)
    calibration, held_out = ([_text(choose) for _ in range(count)] for count in _COUNTS)
    model = Attacut(len(numbers))
    model.load_state_dict(_weights(folder / "model.pth"))
    begins = torch.stack([truth for _, truth in held_out])

    def right(outputs: Tensor) -> float:
        return float(((outputs > 0) == begins).float().mean())

    def inputs(texts: list[tuple[str, Tensor]]) -> list[tuple[Tensor, ...]]:
        return [(torch.tensor([[numbers[each] for each in text]]),) for text, _ in texts]

    return Task(
        "AttaCut", model.eval(), inputs(calibration), inputs(held_out), are_logits=False, metric="words' begins right",
        truth=right, answers=lambda outputs: outputs > 0, agreement="equal decisions", modes=("static", "dynamic"),
    )  # fmt: skip


def _weights(file: Path) -> dict[str, Tensor]:
    """The package wraps each convolution in a module of its own."""
    found = torch.load(file, "cpu", weights_only=True)
    return {name.replace(".conv.", "."): weight for name, weight in found.items()}


def _text(choose: random.Random) -> tuple[str, Tensor]:
    """So many characters, and which of them begin a word, bool [n]."""
    words: list[str] = []
    while sum(map(len, words)) < _LENGTH:
        words += [choose.choice(_WHEN)] if choose.random() < 0.5 else []
        words += [choose.choice(_WHO), choose.choice(_DOES), choose.choice(_WHAT)]
        words += [choose.choice(_HOW)] if choose.random() < 0.5 else []
        words += ["ที่", choose.choice(_WHERE)]
    begins = [index == 0 for word in words for index in range(len(word))]
    return "".join(words)[:_LENGTH], torch.tensor(begins[:_LENGTH])
