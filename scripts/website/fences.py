"""Code blocks: the site's Markdown wants empty lines around them, and has another way to name a block's file."""

import re

BLOCK = re.compile(r"\n*^(```(?:[^\n`]*)\n.*?^```)$\n*", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(\S+) (?:from|file)=(\S+)$", re.MULTILINE)


def separate(markdown: str) -> str:
    """A page whose blocks are paragraphs of their own."""
    return BLOCK.sub(r"\n\n\1\n\n", markdown)


def titled(markdown: str) -> str:
    """A page whose blocks have the name of their file as title; for the tests it says how a block holds."""
    return FILE.sub(r'```\1 title="\2"', markdown)
