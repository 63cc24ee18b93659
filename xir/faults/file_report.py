"""What the bisection of a file has found, for a person."""

from __future__ import annotations

from math import isfinite

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation

from xir.dialects import delegate, pte
from xir.dialects.edge import EdgeOp
from xir.evaluate.file_bisection import FileDifference
from xir.ir.location import find_file_location, format_location


def told_of_file(found: FileDifference, file: str) -> str:
    """A diagnostic: the source line, what eager computes there, and which node of the file computes something else."""
    if found.step is None:
        place = _place(found.eager, None, file)
        what = f"output {found.output} is another value of eager's"
        return f"{place}: error: {what}: its largest is {found.actual:.6g}, not {found.expected:.6g}"
    op = found.step.op
    error = f"off by {found.error:.1e} of its largest magnitude" if isfinite(found.error) else "of no size that it has"
    wrong = f"the kernel of {_name(op)} errs" if found.by_kernel else f"{_name(op)} leaves what eager computes"
    lines = [f"{_place(found.eager, op, file)}: error: {wrong}: {error}"]
    if isfinite(found.error):
        wanted = "its definition gives" if found.by_kernel else "eager has"
        lines.append(f"{file}: note: {_where(op)} is {found.actual:.9g} where {wanted} {found.expected:.9g}")
    else:
        lines.append(f"{file}: note: {_where(op)}")
    if found.eager is not None and not found.by_kernel:
        name = found.eager.operator_name if isinstance(found.eager, EdgeOp) else found.eager.name
        lines.append(f"{format_location(found.eager.location)}: note: {name} is computed here")
    if not found.by_kernel:
        lines.append(f"{file}: note: seen in output {found.output}; what the node reads is eager's")
    return "\n".join(lines)


def _place(eager: Operation | None, op: Operation | None, file: str) -> str:
    """The source line: of the node if the file tells it, else of what eager computes in its place."""
    for each in (op, eager):
        if each is not None and find_file_location(each.location) is not None:
            return format_location(each.location)
    if eager is not None and not isinstance(eager.location, UnknownLoc):
        return format_location(eager.location)
    return file


def _name(op: Operation) -> str:
    return f"'{op.kernel.data}'" if isinstance(op, pte.KernelCallOp) else f"'{op.name}'"


def _where(op: Operation) -> str:
    """Where in a file an op is."""
    parent = op.parent_op()
    if isinstance(parent, delegate.GraphOp):
        nodes = [each for each in parent.block.ops if each.name.split(".")[-1] != "constant"]
        outer = parent.parent_op()
        name = outer.sym_name.data if isinstance(outer, pte.DelegateOp) else "?"
        return f"node {nodes.index(op)} of delegate @{name}"
    chain = op.parent
    return f"instruction {list(chain.ops).index(op)}" if chain is not None else "an instruction"
