"""What CONTRIBUTING.md asks of the pages' words: British spelling in prose, and at most 250 lines."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
LONGEST = 250
REFERENCE = ROOT / "docs" / "reference"
"""Lists that tools write: they are as long as what they list."""
QUOTED = REFERENCE / "op_database.md"
"""It quotes torch's messages."""
NOT_PROSE = re.compile(
    r"^```.*?^```$"  # code
    r"|`[^`]*`"  # code in a line
    r"|\]\([^)]*\)",  # where a link leads
    re.MULTILINE | re.DOTALL,
)
WORD = re.compile(r"[\w.:/]*\w")
AMERICAN = re.compile(
    r"(?:(?:quanti|optimi|normali|initiali|speciali|canonicali|legali|seriali|recogni|organi|summari|minimi|maximi)z"
    r"|behavior|neighbor|color)",
    re.IGNORECASE,
)


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "backend_cpp" / "README.md"]


def american(text: str) -> list[str]:
    """The words of a page's prose that are spelt the American way. What has `_`, `.`, `:` or `/` inside is a name."""
    words = WORD.findall(NOT_PROSE.sub("", text))
    return [word for word in words if AMERICAN.search(word) and not re.search(r"[_.:/]", word)]


def test_prose_is_british() -> None:
    found = {page: american(page.read_text(encoding="utf-8")) for page in pages() if page != QUOTED}
    assert {page.relative_to(ROOT).as_posix(): words for page, words in found.items() if words} == {}


def test_pages_are_short() -> None:
    lines = {page: page.read_text(encoding="utf-8").count("\n") for page in pages() if REFERENCE not in page.parents}
    assert {page.relative_to(ROOT).as_posix(): count for page, count in lines.items() if count > LONGEST} == {}


def test_american_words_are_found() -> None:
    page = "A quantizer of `xir.quantize` in [colours](color.md)\n\n```sh\nxir --quantize\n```\n"
    assert american(page) == ["quantizer"]
