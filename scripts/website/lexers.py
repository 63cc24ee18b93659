"""Colours for what Pygments does not know: MLIR, and commands whose output may look like commands."""

from pygments.lexer import RegexLexer, bygroups, using, words
from pygments.lexers import LEXERS
from pygments.lexers.shell import BashLexer
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

__all__ = ["ConsoleLexer", "MlirLexer"]  # Pygments reads this

SHAPED = words(("tensor", "memref", "vector", "complex", "tuple"), suffix=r"(?=<)")


class MlirLexer(RegexLexer):
    """The text of the IR, in xir's syntax of ops and in the generic one."""

    name = "MLIR"
    aliases = ("mlir",)
    filenames = ("*.mlir",)

    tokens = {  # noqa: RUF012 - as Pygments declares it
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"((?:func\.)?func)(\s+)(@[\w$.]+)", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (r"%[\w$.-]+(?:#\d+)?", Name.Variable),
            (r"@[\w$.]+", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (SHAPED, Keyword.Type),
            (r"((?:\d+|\?|\*)x)", Number),
            (r"(?:bf16|f16|f32|f64|index|none|[su]?i[1-9]\d*)\b", Keyword.Type),
            (r"![\w$.-]+", Keyword.Type),
            (r"#[A-Za-z_][\w$.-]*", Name.Constant),
            (r"(?:dense|dense_resource|array)(?=<)", Name.Builtin),
            (r"[A-Za-z_][\w$.]*(?=\s*=(?!=))", Name.Attribute),
            (r"[a-z_]\w*(?:\.\w+)+", Name.Builtin),
            (r"(?:attributes|loc|callsite|fused|at|to|private|public|true|false|unit)\b", Keyword),
            (r"-?\d+(?:\.\d*(?:[eE][+-]?\d+)?)?|0x[0-9A-Fa-f]+", Number),
            (r"->|=", Operator),
            (r"\w+", Text),
            (r"[\W]", Punctuation),
        ]
    }


class ConsoleLexer(RegexLexer):
    """Commands after `$ `, and their output. Pygments' own takes output that begins with % or # for commands too."""

    name = "Console"
    aliases = ("console",)

    tokens = {  # noqa: RUF012 - as Pygments declares it
        "root": [
            (r"^(\$ )((?:.*\\\n)*.*\n?)", bygroups(Generic.Prompt, using(BashLexer))),
            (r".*\n|.+", Generic.Output),
        ]
    }


def register() -> None:
    """Let Pygments find them under their names, the second instead of its own."""
    LEXERS["MlirLexer"] = (__name__, MlirLexer.name, MlirLexer.aliases, MlirLexer.filenames, ())
    LEXERS["BashSessionLexer"] = (__name__, ConsoleLexer.name, ConsoleLexer.aliases, (), ())
