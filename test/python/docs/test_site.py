"""What `make site` builds from: its navigation, the names that it links, and how it changes the pages.

Nothing here needs what the site is built with. `make site` itself fails for a warning, a dead link, or a name without
its place.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import check_site
import yaml
from docs.test_examples import anchors, blocks
from pygments.token import Error, Generic, Keyword, Name, Number
from website import fences, names, tree
from website.lexers import ConsoleLexer, MlirLexer

ROOT = Path(__file__).parents[3]
NAMES = {
    "xir": "a.md",
    "xir.load": "a.md#xir.load",
    "QuantConfig": "a.md#xir.QuantConfig",
    "xir-llm": "c.md#xir-llm",
    "xir-llm run": "c.md#xir-llm-run",
    "cse": "p.md#cse",
}


def navigation() -> list[dict[str, Any]]:
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]


def leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for child in entry.values() if isinstance(entry, dict) else entry:
            yield from leaves(child)


def test_navigation_has_each_page_once() -> None:
    assert sorted(leaves(navigation())) == sorted([*tree.pages(), *names.API.values()])


def test_groups_are_those_of_the_list_of_pages() -> None:
    listed = tree.text("docs/README.md").split("\n## ")[1:]
    groups = {group: set(leaves(pages)) for entry in navigation() for group, pages in entry.items()}
    for text in listed:
        group = text.partition("\n")[0]
        links = {(ROOT / "docs" / target).resolve() for target in re.findall(r"\]\(([^)#]+\.md)\)", text)}
        assert links == {ROOT / page for page in groups[group] - set(names.API.values())}, group
    assert [text.partition("\n")[0] for text in listed] == ["Get started", "How to", "Reference", "Why"]


def test_every_command_and_pass_is_a_name() -> None:
    from xir.transforms.registry import PASSES

    commands = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    known = tree.all_names()
    assert [name for name in (*commands, *PASSES) if name not in known] == []
    for name in ("xir.Contract", "xir.runtime.Runtime", "xir.llm.export", "xir.plugin.rule", "XnnpackPartitioner"):
        assert name in known
    assert "Method" not in known  # C++ has one too


def test_names_of_headings_lead_to_them() -> None:
    for place in tree.all_names().values():
        path, _, anchor = place.partition("#")
        assert path in names.API.values() or anchor in anchors(ROOT / path), place


LINKED = {
    "xir-llm run model.pte": "c.md#xir-llm-run",
    "xir-llm --help": "c.md#xir-llm",
    "xir.load(&quot;m.pte&quot;)": "a.md#xir.load",
    "QuantConfig.max_drop": "a.md#xir.QuantConfig",
    "--cse": "p.md#cse",
    "--cse=x=1 in.mlir": "p.md#cse",
    "cse": "p.md#cse",
    "xir": "a.md",
    "xir.composed": None,
    "cse of constants": None,
    "unknown": None,
}


def test_code_is_linked() -> None:
    for code, place in LINKED.items():
        plain = f"<p><code>{code}</code></p>"
        expected = f'<p><a href="/{place}"><code>{code}</code></a></p>' if place else plain
        assert names.linked(plain, NAMES, lambda place: f"/{place}") == expected


def test_what_is_linked_already_stays() -> None:
    for page in (
        '<a href="x"><code>cse</code></a>',
        "<pre><span></span><code>cse</code></pre>",
        "<h2>The pass <code>cse</code></h2>",
    ):
        assert names.linked(page, NAMES, str) == page


def test_short_names_stay_in_one_line() -> None:
    page = "<code>--report</code> <code>two words</code>"
    assert names.unbroken(page) == '<code class="word">--report</code> <code>two words</code>'


def test_anchors_are_those_of_github_and_pages_begin_with_their_titles() -> None:
    for page in tree.pages():
        text = names.FENCE.sub("", tree.text(page))
        assert {names.slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)} == anchors(ROOT / page)
        assert tree.without_header(tree.text(page)).startswith("# "), page


def test_blocks_are_paragraphs_and_have_titles() -> None:
    page = "Before:\n```c++ from=a/b.cc\nint x;\n\n```\nAfter\n"
    changed = fences.titled(fences.separate(page))
    assert changed == 'Before:\n\n```c++ title="a/b.cc"\nint x;\n\n```\n\nAfter\n'


def test_links_to_sources_lead_to_pages_that_show_them() -> None:
    page = "[a](../CMakeLists.txt) [b](../README.md#x) [c](images/explorer.png) [d](https://github.com/x)"
    assert tree.with_source_pages(page, "docs/x.md") == page.replace("CMakeLists.txt", "CMakeLists.txt.md")
    assert "LICENSE" in set(tree.linked_sources())
    assert "```text\n" in tree.source_page("LICENSE")


def test_mlir_is_colored() -> None:
    kinds = {word: kind for kind, word in MlirLexer().get_tokens("%0 = xnnpack.clamp %x : tensor<2x?xf32>\n")}
    assert kinds["xnnpack.clamp"] is Name.Builtin
    assert kinds["%x"] is Name.Variable
    assert kinds["f32"] is Keyword.Type
    assert kinds["?x"] is Number


def test_output_is_no_command() -> None:
    text = "$ xir-opt --cse \\\n    in.mlir\n%0 = edge.relu(%x)\n# comment\n$ ls\n"
    tokens = list(ConsoleLexer().get_tokens(text))
    assert "".join(word for kind, word in tokens if kind is Generic.Output) == "%0 = edge.relu(%x)\n# comment\n"
    assert [word for kind, word in tokens if kind is Generic.Prompt] == ["$ ", "$ "]


def test_all_mlir_of_the_pages_is_colored() -> None:
    texts = [block.text for page in tree.pages() for block in blocks(tree.text(page)) if block.language == "mlir"]
    assert len(texts) > 100
    for text in texts:
        tokens = list(MlirLexer().get_tokens(text))
        assert "".join(word for _, word in tokens).strip() == text.strip()
        assert not any(kind is Error for kind, _ in tokens)


def test_faults_of_a_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.html").write_text('<h1 id="top">x</h1><a href="..">up</a>', encoding="utf-8")
    links = "".join(f'<a href="{url}">x</a>' for url in ("docs/#top", "docs/#no", "gone/", "https://github.com"))
    (tmp_path / "index.html").write_text(f'{links}<script src="//cdn/x.js"></script>', encoding="utf-8")
    found, count = check_site.problems(tmp_path, {"xir": "docs.md#top", "cse": "docs.md#cse", "x": "no.md"})
    assert count == 4
    assert found == [
        "cse is not in docs.md#cse",
        "x is not in no.md",
        "index.html: loads //cdn/x.js",
        "index.html: dead link docs/#no",
        "index.html: dead link gone/",
    ]
