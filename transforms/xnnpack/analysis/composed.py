"""Which ops several nodes compute together in another form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from xir.ir.annotations import COMPOSED, ORIGINS
from xir.ir.context import XirContext
from xir.ir.diagnostics import Severity
from xir.ir.provenance import inherit
from xir.ir.remarks import Figure, Remark, RemarkKind, function_of, sentence
from xir.transforms.xnnpack.analysis.stays_float import name_of


@dataclass(frozen=True, kw_only=True)
class ComposedOp(Remark):
    """The remark about an op that several nodes compute together; nobody has to ask for it."""

    op: str
    """The op's name: what the program calls it, else the node's."""
    form: str


def report_composed(
    node: Operation, by: str, form: str, figures: Mapping[str, Figure], ctx: XirContext, caveat: str = ""
) -> None:
    """Emit a pass's remark about a node that is composed of others, with the figures that spoke for it, and what is to
    be said of these."""
    name = name_of(node)
    said = f"{name} is computed as {form}"
    if "DirectMicroseconds" in figures:
        said += f", {figures['Microseconds']} µs for {figures['DirectMicroseconds']} µs{caveat}"
    ctx.diagnostics.emit(
        ComposedOp(
            Severity.REMARK,
            node.location,
            sentence(by, said, "", None),
            kind=RemarkKind.PASSED,
            category=by,
            name="composed",
            text=said,
            function=function_of(node),
            figures=(("Op", name), ("Form", form), *figures.items()),
            op=name,
            form=form,
        )
    )


def mark_composed(node: Operation, origin: Operation, form: str) -> None:
    """Let a node say that it is a part of what stands for another op, in some form, and where that one came from."""
    inherit(node, origin)
    node.attributes[COMPOSED] = _form(form)


def composed_attributes(origin: Operation, form: str) -> Mapping[str, Attribute]:
    """The attributes that `mark_composed` gives, for whoever makes dozens of nodes of one op."""
    known = {ORIGINS: origin.attributes[ORIGINS]} if ORIGINS in origin.attributes else {}
    return {**known, COMPOSED: _form(form)}


@lru_cache(maxsize=256)
def _form(text: str) -> StringAttr:
    """Dozens of nodes have the same one."""
    return StringAttr(text)
