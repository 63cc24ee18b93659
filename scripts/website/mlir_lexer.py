"""Colours for MLIR, which Pygments does not know."""

from pygments.lexer import RegexLexer, bygroups, words
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

__all__ = ["MlirLexer"]  # Pygments reads this

SHAPED = words(("tensor", "memref", "vector", "complex", "tuple"), suffix=r"(?=<)")


class MlirLexer(RegexLexer):
    """The text of the IR, in xir's syntax of ops and in the generic one."""

    name = "MLIR"
    url = "https://mlir.llvm.org"
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


def register() -> None:
    """Let Pygments find it under its name."""
    LEXERS["MlirLexer"] = (__name__, MlirLexer.name, MlirLexer.aliases, MlirLexer.filenames, ())
