"""Which files of the repository are pages of the site. They keep their places, so the links between them hold."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from website.names import API, api_names, exported, headed_names

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
LANGUAGES = {".c": "c", ".cc": "cpp", ".h": "cpp"}


def pages() -> list[str]:
    """The paths of pages that somebody wrote, or a script of the project."""
    written = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", *written]


def images() -> list[str]:
    """The paths of pictures."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/images").iterdir())


def text(path: str) -> str:
    """What a file holds."""
    return (ROOT / path).read_text(encoding="utf-8")


def is_source(path: str) -> bool:
    """Whether a link leads to a file that is neither a page nor a picture."""
    return not path.endswith(".md") and not path.startswith("docs/images/") and (ROOT / path).is_file()


def linked_sources() -> Iterator[str]:
    """The files to which pages link and that are not pages themselves, such as examples in C."""
    for page in pages():
        for target in LINK.findall(text(page)):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
            if is_source(path):
                yield path


def source_page(path: str) -> str:
    """A page that shows such a file."""
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    return f"---\nsearch: {{exclude: true}}\n---\n\n# `{path}`\n\n```{language}\n{text(path).rstrip()}\n```\n"


def with_source_pages(markdown: str, page: str) -> str:
    """A page whose links to such files lead to the pages that show them."""

    def to_page(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[0]))
        return f"{match[0]}.md" if is_source(path) else match[0]

    return LINK.sub(to_page, markdown)


def without_header(markdown: str) -> str:
    """A page without the comment that says who wrote it, before which MkDocs finds no title."""
    return re.sub(r"\A<!--.*?-->\s*", "", markdown, flags=re.DOTALL)


def api_page(module: str) -> str:
    """The page of a public module: a directive, which mkdocstrings replaces by docstrings."""
    members = "".join(f"        - {name}\n" for name in exported(module, ROOT) if f"{module}.{name}" not in API)
    return f"# `{module}`\n\n::: {module}\n    options:\n      members:\n{members}"


@cache
def all_names() -> dict[str, str]:
    """Every name that is linked, with its place."""
    reference = {path: text(path) for path in pages() if path.startswith("docs/reference/")}
    return headed_names(reference) | api_names(ROOT)
