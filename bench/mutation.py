"""Mistakes made by a machine: changes of one expression or statement of a Python file, as a tired author would.

Bounds move by one, comparisons and sums turn around, arguments and elements change places, conditions lose a part,
guards and calls go. Annotations, texts, and what is only said (remarks, errors) stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
"""What a comparison becomes."""

ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "//",
    ast.BitOr: "&",
    ast.BitAnd: "|",
}
"""What an operator becomes."""

FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}
"""What is called instead."""

SYMMETRIC = frozenset({"min", "max", "inherit", "fused_location", "set", "union"})
"""Calls whose arguments may change places."""

SAID = frozenset(
    {
        "missed", "passed", "analysed", "remark", "note", "warning", "say", "report_float", "join", "append_note",
        "isinstance", "cast", "TypeVar", "field", "dataclass", "range_check",
    }
)  # fmt: skip
"""Calls whose arguments say something to a person or a type checker, and are left alone."""


@dataclass(frozen=True)
class Mutation:
    """One change of a file's text."""

    kind: str
    line: int
    start: int
    """Where what is replaced begins, in characters of the text."""
    end: int
    before: str
    after: str
    is_statement: bool = False

    def applied(self, source: str, prelude: str = "") -> str:
        """The text with the change. `prelude` is a call that is made whenever what is changed is computed."""
        after = self.after
        if prelude and self.kind != "bound":
            after = f"{prelude}; {after}" if self.is_statement else f"({prelude} or {after})"
        return source[: self.start] + after + source[self.end :]


def mutations(source: str) -> list[Mutation]:
    """All changes of a file, in the order of the text. Few of them are no Python (`fits`)."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    found = sorted(finder.found, key=lambda each: (each.start, each.end, each.kind, each.after))
    return [each for each in found if each.before != each.after]


def fits(mutation: Mutation, source: str, prelude: str) -> bool:
    """Whether a file is Python with the change."""
    try:
        compile(mutation.applied(source, prelude), "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


class _Finder(ast.NodeVisitor):
    """Walks a file's functions."""

    def __init__(self, source: str):
        self.source = source
        self.found: list[Mutation] = []
        self._lines = [0]
        for line in source.encode().splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._bytes = source.encode()
        self._depth = 0
        """How many functions are around what is visited: outside of all nothing is changed."""

    # What is visited.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in ("__str__", "__repr__"):
            return
        self._depth += 1
        for each in node.body:
            self.visit(each)
        self._depth -= 1

    def visit_Raise(self, node: ast.Raise) -> None:
        """What errors say stays."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """What is taken for granted stays."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts stay."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit(self, node: ast.AST) -> None:
        if self._depth:
            for kind, after in self._changes(node):
                self._add(kind, node, after)
        super().visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if _called(node) not in SAID:
            self.generic_visit(node)

    # What is changed.

    def _changes(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                yield "comparison", f"{self._text(left)} {COMPARISONS[type(op)]} {self._text(right)}"
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._arithmetic(left, op, right)
            case ast.BoolOp(values=values):
                yield from self._conditions(node, values)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield "sign", self._text(operand)
            case ast.Constant(value=value):
                yield from _constants(value)
            case ast.IfExp(body=body, orelse=orelse):
                yield "choice", self._text(body)
                yield "choice", self._text(orelse)
            case ast.Tuple(elts=elements, ctx=ast.Load()) | ast.List(elts=elements, ctx=ast.Load()):
                yield from self._places(node, elements)
            case ast.Call():
                yield from self._calls(node)
            case ast.Slice(lower=lower, upper=upper):
                yield from self._slices(lower, upper)
            case _:
                yield from self._statements(node)

    def _arithmetic(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Iterator[tuple[str, str]]:
        if isinstance(left, ast.Constant) and isinstance(left.value, str):
            return
        if type(op) in ARITHMETIC:
            yield "operator", f"{self._text(left)} {ARITHMETIC[type(op)]} {self._text(right)}"
        if isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv):
            yield "operand", self._text(left)
        symbol = "-" if isinstance(op, ast.Sub) else "/" if isinstance(op, ast.Div) else "//"
        if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv):
            yield "order", f"{self._text(right)} {symbol} {self._text(left)}"

    def _conditions(self, node: ast.AST, values: Sequence[ast.expr]) -> Iterator[tuple[str, str]]:
        assert isinstance(node, ast.BoolOp)
        word = " and " if isinstance(node.op, ast.And) else " or "
        for gone in range(len(values)):
            kept = [f"({self._text(each)})" for number, each in enumerate(values) if number != gone]
            yield "condition", word.join(kept)

    def _places(self, node: ast.AST, elements: Sequence[ast.expr]) -> Iterator[tuple[str, str]]:
        if not 2 <= len(elements) <= 6 or any(isinstance(each, ast.Starred) for each in elements):
            return
        if not self._text(node).startswith(("(", "[")):
            return
        first, second, *rest = map(self._text, elements)
        if first != second and not all(isinstance(each, ast.Name) and each.id[:1].isupper() for each in elements):
            text = ", ".join([second, first, *rest])
            yield "places", f"({text})" if isinstance(node, ast.Tuple) else f"[{text}]"

    def _calls(self, node: ast.Call) -> Iterator[tuple[str, str]]:
        name = _called(node)
        if name in SAID:
            return
        function = self._text(node.func)
        arguments = [self._text(each) for each in node.args]
        keywords = [(each.arg, self._text(each.value)) for each in node.keywords]

        def called(arguments: Sequence[str], keywords: Sequence[tuple[str | None, str]], name: str = function) -> str:
            named = [f"**{value}" if key is None else f"{key}={value}" for key, value in keywords]
            return f"{name}({', '.join([*arguments, *named])})"

        if name in FUNCTIONS and isinstance(node.func, ast.Name):
            yield "function", called(arguments, keywords, FUNCTIONS[name])
        if (
            len(arguments) >= 2
            and name not in SYMMETRIC
            and not any(isinstance(each, ast.Starred) for each in node.args[:2])
        ):
            yield "order", called([arguments[1], arguments[0], *arguments[2:]], keywords)
        for number in range(len(keywords) - 1):
            (first, value), (second, other) = keywords[number : number + 2]
            if value != other and first is not None and second is not None:
                swapped = [*keywords[:number], (first, other), (second, value), *keywords[number + 2 :]]
                yield "order", called(arguments, swapped)
        for number, (key, _) in enumerate(keywords):
            if key in ("bias", "mask", "attn_mask", "clamp", "alpha"):
                yield "argument", called(arguments, [*keywords[:number], (key, "None"), *keywords[number + 1 :]])
        if name in ("reversed", "abs", "transpose", "inverse", "sqrt", "exp", "rint") and len(arguments) == 1:
            yield "function", arguments[0]

    def _slices(self, lower: ast.expr | None, upper: ast.expr | None) -> Iterator[tuple[str, str]]:
        low, high = ("" if each is None else self._text(each) for each in (lower, upper))
        if low and high:
            yield "bound", f"{low}:"
            yield "bound", f":{high}"

    def _statements(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        match node:
            case ast.Expr(value=ast.Call() as call) if _called(call) not in SAID:
                yield "statement", "pass"
            case ast.AugAssign():
                yield "statement", "pass"
            case _:
                return

    def generic_visit(self, node: ast.AST) -> None:
        """Go on, and drop guards: a condition that leads out of a function or loop never holds."""
        if self._depth and isinstance(node, ast.If):
            leaves = len(node.body) == 1 and isinstance(node.body[0], ast.Return | ast.Continue | ast.Break)
            if leaves and not node.orelse:
                self._add("guard", node.test, "False")
            else:
                self._add("choice", node.test, "True")
        if self._depth and isinstance(node, ast.comprehension) and len(node.ifs) == 1:
            self._add("filter", node.ifs[0], "True")
        super().generic_visit(node)

    # Text.

    def _add(self, kind: str, node: ast.AST, after: str) -> None:
        start, end = self._span(node)
        statement = isinstance(node, ast.stmt)
        before = self._text(node)
        if not statement and not isinstance(node, ast.Constant | ast.Slice):
            after = f"({after})"
        line: int = node.lineno  # pyright: ignore[reportAttributeAccessIssue]
        self.found.append(Mutation(kind, line, start, end, before, after, statement))

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self._lines[node.lineno - 1] + node.col_offset  # pyright: ignore
        end = self._lines[node.end_lineno - 1] + node.end_col_offset  # pyright: ignore
        return len(self._bytes[:start].decode()), len(self._bytes[:end].decode())

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self.source[start:end]


def _constants(value: object) -> Iterator[tuple[str, str]]:
    match value:
        case bool():
            yield "constant", str(not value)
        case int():
            yield "constant", str(value + 1)
            if value:
                yield "constant", str(value - 1)
        case float():
            yield "constant", repr(value * 2 if value else 0.5)
        case _:
            return


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
