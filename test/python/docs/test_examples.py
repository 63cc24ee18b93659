"""The examples in the Markdown pages hold: a code block's info string says how.

- ```` ```LANG from=PATH ````: the block is quoted from that file, to the letter.
- ```` ```LANG file=NAME ````: the block is written to NAME in the page's scratch folder, for later blocks to use.
- ```` ```console ````: each `$ command` runs in that folder; the lines under it are its output, `...` any text.
- ```` ```python ````: the page's Python blocks run one after the other in one namespace, in that folder.
- ```` ```mlir ````: xir-opt reads it and prints it.

The chapters of docs/tutorial share one folder. Blocks in other languages (`sh`, `text`, …) are for the reader alone,
and the generated pages of docs/reference show fragments from docstrings, whose whole programs are the lit tests.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest

from docs import commands

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```(\S+)[ \t]*([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    options: dict[str, str]
    text: str


@cache
def pages() -> tuple[Path, ...]:
    written = (page for page in sorted((ROOT / "docs").rglob("*.md")) if "reference" not in page.parts)
    return (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written)


def blocks(page: str) -> list[Block]:
    return [
        Block(
            line=page.count("\n", 0, match.start()) + 1,
            language=match[1],
            options=dict(word.split("=", 1) for word in match[2].split()),
            text=match[3],
        )
        for match in BLOCK.finditer(page)
    ]


XIRS = {entry.name for entry in distribution("xir").entry_points.select(group="console_scripts")}


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    """Commands are those of this environment; pytest-xdist's COLUMNS would narrow tables to 80."""
    with commands.serving(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        patch.delenv("COLUMNS", raising=False)
        yield


SIMPLE = re.compile(
    r"(?P<fails>! )?(?P<words>[^|;&<>$]+?)(?P<quiet> 2> ?/dev/null)?(?P<merged> 2>&1)?"
    r"(?P<reports> \|\| echo \"exit code \$\?\")?"
)
"""A command with the little of a shell's syntax that pages have around one of xir's."""


def run(command: str, folder: Path, stdin: str = "") -> str:
    """What a command prints: of xir's own, if the line has little of a shell's syntax, in a process with PyTorch."""
    simple = SIMPLE.fullmatch(command)
    if simple and (words := shlex.split(simple["words"]))[0] in XIRS:
        code, printed, told = commands.run(words, folder, stdin)
        if simple["quiet"]:
            told = ""
        if simple["merged"]:
            printed, told = printed + told, ""
        if code and simple["reports"]:
            printed, code = f"{printed}exit code {code}\n", 0
        if simple["fails"]:
            code = int(not code)
        printed += told
    else:
        arguments = ["bash", "-c", command]
        environment = dict(os.environ)  # as Python sees it: readline adds to what processes inherit
        done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        code, printed = done.returncode, done.stdout + done.stderr
    if code:
        raise ValueError(f"$ {command}\n{printed}ended with exit code {code}")
    return printed


def check_console(text: str, folder: Path) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        printed = run(command, folder)
        if not expected.strip():
            continue
        pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("..."))
        if not re.fullmatch(pattern, printed.strip(), re.DOTALL):
            raise ValueError(f"$ {command}\n{printed}is not what the page shows")


def check(block: Block, folder: Path, namespace: dict[str, object]) -> None:
    if source := block.options.get("from"):
        if block.text not in (ROOT / source).read_text(encoding="utf-8"):
            raise ValueError(f"{source} does not hold this text")
    elif name := block.options.get("file"):
        (folder / name).write_text(block.text, encoding="utf-8")
    elif block.language == "console":
        check_console(block.text, folder)
    elif block.language == "python":
        exec(block.text, namespace)
    elif block.language == "mlir":
        run("xir-opt", folder, stdin=block.text)


def check_pages(together: list[Path], folder: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for page in together:
        for block in blocks(page.read_text(encoding="utf-8")):
            try:
                check(block, folder, namespace)
            except Exception as error:
                place = f"{page.relative_to(ROOT)}:{block.line}"
                pytest.fail(f"{place}: {type(error).__name__}: {error}", pytrace=False)


def is_chapter(page: Path) -> bool:
    return page.parent.name == "tutorial"


@pytest.mark.parametrize(
    "page", [page for page in pages() if not is_chapter(page)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_examples_hold(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_pages([page], tmp_path)


def test_the_tutorial_holds_chapter_by_chapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chapters = [page for page in pages() if is_chapter(page)]
    assert [page.name[0] for page in chapters] == ["1", "2", "3", "4"]
    check_pages(chapters, tmp_path)


def test_a_wrong_example_is_found(tmp_path: Path) -> None:
    right, wrong = blocks("```console\n$ echo one two\none ...\n```\n\n```console\n$ echo one\ntwo\n```\n")
    check(right, tmp_path, {})
    assert wrong.line == 6
    with pytest.raises(ValueError, match="not what the page shows"):
        check(wrong, tmp_path, {})


@cache
def anchors(page: Path) -> set[str]:
    """What `#…` of a link may be: the page's headings, as GitHub writes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_inside_the_project_lead_somewhere() -> None:
    dead: list[str] = []
    for page in (*pages(), ROOT / "CHANGELOG.md", *(ROOT / "docs/reference").rglob("*.md")):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8")):
            file = page.parent / target if target else page
            if "://" in target or (file.exists() and (not anchor or anchor in anchors(file))):
                continue
            dead.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert dead == []
