"""Links from names in the text of a page to what says what they are.

A name is what a page writes as code: `xir-aot --lock`, `xir.load(...)`, `--fuse-conv-relu`. The pages need no link for
that, and on GitHub have none.
"""

import ast
import html
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{2,3} `([^`]+)`$", re.MULTILINE)
CODE = re.compile(
    r"<(?P<kept>a|pre|h[1-6])\b.*?</(?P=kept)>"  # linked already, a block, or a heading
    r"|<code>(?P<text>[^<]*)</code>",
    re.DOTALL,
)
SHORT = re.compile(r"<code>(?=[^\s<]{1,24}</code>)")
SEVERAL_WORDS = re.compile(r"(?:[A-Z][a-z0-9]+){2,}")
"""`QuantConfig`: a class that a page may name without its module. `Method` and `Program` are C++'s names too."""

API = {
    "xir": "docs/reference/api/xir.md",
    "xir.runtime": "docs/reference/api/runtime.md",
    "xir.llm": "docs/reference/api/llm.md",
    "xir.plugin": "docs/reference/api/plugin.md",
}
"""The public modules (docs/versioning.md), each with its page."""


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def exported(module: str, root: Path) -> list[str]:
    """The names in `__all__` of a module, which is read and not imported."""
    path = root / module.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for statement in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return ast.literal_eval(statement.value)
    raise ValueError(f"{source} has no __all__")


def api_names(root: Path) -> dict[str, str]:
    """Public Python names, each with page and anchor."""
    found = dict(API)
    for module, page in API.items():
        for name in exported(module, root):
            qualified = f"{module}.{name}"
            found.setdefault(qualified, f"{page}#{qualified}")
            if SEVERAL_WORDS.fullmatch(name):
                found[name] = f"{page}#{qualified}"
    return found


def headed_names(reference: Mapping[str, str]) -> dict[str, str]:
    """The names that are headings of reference pages (path -> text): commands, passes, ops and types."""
    return {
        name: f"{path}#{slug(name)}"
        for path, text in reference.items()
        for name in HEADING.findall(FENCE.sub("", text))
    }


def readings(code: str) -> Iterator[str]:
    """The names that code may be about: `xir-llm run` before `xir-llm` in `xir-llm run m.pte`, `A` in `A.b(c)`."""
    words = code.split()
    if code.startswith("xir-"):
        yield from (" ".join(words[:count]) for count in range(len(words), 0, -1))
    elif code.startswith("--"):
        yield words[0].removeprefix("--").split("=")[0]
    else:
        name = code.partition("(")[0]
        yield name
        owner = name.rpartition(".")[0]
        if owner.rpartition(".")[2][:1].isupper():  # a class: its member is there
            yield owner


def unbroken(page: str) -> str:
    """The HTML of a page whose short names are marked, for the style sheet to keep each in one line."""
    return SHORT.sub('<code class="word">', page)


def linked(page: str, names: Mapping[str, str], url: Callable[[str], str]) -> str:
    """The HTML of a page with its names linked. `url` makes a link of a place, page and anchor."""

    def link(match: re.Match[str]) -> str:
        if match["text"] is None:
            return match[0]
        place = next((names[name] for name in readings(html.unescape(match["text"])) if name in names), None)
        return f'<a href="{url(place)}">{match[0]}</a>' if place else match[0]

    return CODE.sub(link, page)
