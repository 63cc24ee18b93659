"""README and the changelog give the speeds of bench/results, each one number."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("README.md", r"On a Zen 3 core ResNet-18 is ([\d.]+) times"),
        ("README.md", r"xir's speed ÷ the other's: ResNet-18 \| 1 \| ([\d.]+) \|"),
        ("CHANGELOG.md", r"AMD EPYC \(Zen 3\), ResNet-18 runs\s+([\d.]+) times"),
    ],
)
def test_resnet18_on_zen3(page: str, sentence: str) -> None:
    results = json.loads((ROOT / "bench/results/amd_epyc_zen3_avx2.json").read_text(encoding="utf-8"))
    took = {
        row["runtime"]: row["median_ms"]
        for row in results["rows"]
        if (row["model"], row["form"], row["threads"]) == ("resnet18", "fp32", 1)
    }
    (told,) = re.findall(sentence, (ROOT / page).read_text(encoding="utf-8"))
    assert told == f"{took['ExecuTorch'] / took['xir native']:.1f}"
