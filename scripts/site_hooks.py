"""What MkDocs calls while it builds the site (mkdocs.yml): which pages there are, and what is changed in them."""

from typing import Any

from mkdocs.structure.files import File, InclusionLevel  # pyright: ignore[reportMissingImports]
from mkdocs.utils import get_relative_url  # pyright: ignore[reportMissingImports]
from website import fences, lexers, names, tree

COMMANDS = ("docs/reference/commands.md", "docs/reference/passes.md")


def on_config(config: Any) -> None:
    """Colour MLIR and consoles, and make anchors as GitHub does."""
    lexers.register()
    config.mdx_configs["toc"]["slugify"] = names.slug


def on_files(files: Any, config: Any) -> None:
    """Take the pages of the repository, under their paths in it, instead of those of docs/ alone."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for path in (*tree.pages(), *tree.images()):
        files.append(File(path, str(tree.ROOT), config.site_dir, config.use_directory_urls))
    for module, path in names.API.items():
        files.append(File.generated(config, path, content=tree.api_page(module)))
    for path in sorted(set(tree.linked_sources())):
        content = tree.source_page(path)
        files.append(File.generated(config, f"{path}.md", content=content, inclusion=InclusionLevel.NOT_IN_NAV))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What differs between GitHub's Markdown and the site's."""
    path = page.file.src_uri
    if path == "README.md":
        page.meta["hide"] = ["navigation"]  # there is nothing beside it to choose from
    if path in (*names.API.values(), *COMMANDS):
        page.meta["search"] = {"boost": 2}  # what says what a name is comes before pages that use it
    text = tree.without_header(tree.with_source_pages(markdown, path))
    return fences.titled(fences.separate(text))


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Link names, and give a page without sections the room of its table of contents."""
    if not any(heading.children for heading in page.toc):
        page.meta["hide"] = ["toc"]

    def url(place: str) -> str:
        path, _, anchor = place.partition("#")
        return get_relative_url(files.src_uris[path].url, page.url) + (f"#{anchor}" if anchor else "")

    return names.unbroken(names.linked(html, tree.all_names(), url))
