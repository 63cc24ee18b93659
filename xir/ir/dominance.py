"""Use before definition: every operand is defined above its use, in a region that the use can see.

xDSL's `verify()` does not look at this. One walk in program order with a set of visible values does, at about a
microsecond per operand; only regions with several blocks need a dominator tree.
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from xir.ir.diagnostics import DiagnosticError, note, op_name


def verify_dominance(root: Operation) -> None:
    """Check every use nested in `root`. DiagnosticError at the first that its definition does not dominate."""
    visible: set[int] = set()
    for region in root.regions:
        _check_region(region, visible)


def immediate_dominators(region: Region) -> dict[Block, Block | None]:
    """Each block reachable from the entry -> its immediate dominator (None for the entry), in reverse post-order.

    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    """
    order = _reverse_post_order(region)
    if not order:
        return {}
    number = {block: index for index, block in enumerate(order)}
    predecessors: dict[Block, list[int]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(number[block])

    idom = [-1] * len(order)
    idom[0] = 0
    changed = True
    while changed:
        changed = False
        for index in range(1, len(order)):
            done = [p for p in predecessors[order[index]] if idom[p] >= 0]
            new = done[0]
            for other in done[1:]:
                while new != other:
                    if new > other:
                        new = idom[new]
                    else:
                        other = idom[other]
            if idom[index] != new:
                idom[index] = new
                changed = True
    return {block: order[idom[index]] if index else None for index, block in enumerate(order)}


def _successors(block: Block) -> list[Block]:
    last = block.last_op
    return [] if last is None else list(last.successors)


def _reverse_post_order(region: Region) -> list[Block]:
    entry = region.blocks.first
    if entry is None:
        return []
    post_order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, successors = stack[-1]
        successor = next(successors, None)
        if successor is None:
            post_order.append(block)
            stack.pop()
        elif successor not in seen:
            seen.add(successor)
            stack.append((successor, iter(_successors(successor))))
    return post_order[::-1]


def _check_region(region: Region, visible: set[int]) -> None:
    entry = region.blocks.first
    if entry is None:
        return
    if entry.next_block is None:
        defined: list[int] = []
        _check_block(entry, visible, defined)
        visible.difference_update(defined)
        return

    # Walk the dominator tree: a block sees what the blocks above it in the tree define. Blocks that nothing reaches
    # are not checked, as in MLIR.
    children: dict[Block, list[Block]] = {}
    for block, parent in immediate_dominators(region).items():
        children.setdefault(block, [])
        if parent is not None:
            children[parent].append(block)
    stack: list[Block | list[int]] = [entry]
    while stack:
        step = stack.pop()
        if isinstance(step, list):
            visible.difference_update(step)
            continue
        defined = []
        _check_block(step, visible, defined)
        stack.append(defined)
        stack.extend(reversed(children[step]))


def _check_block(block: Block, visible: set[int], defined: list[int]) -> None:
    """Check a block's ops, adding what it defines to `visible` and `defined`."""
    for argument in block.args:
        defined.append(id(argument))
        visible.add(id(argument))
    op = block.first_op
    while op is not None:
        for operand in op.operands:
            if id(operand) not in visible:
                _raise_not_dominated(op, operand)
        if op.regions:
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            inner = set[int]() if isolated else visible
            for region in op.regions:
                _check_region(region, inner)
        for result in op.results:
            defined.append(id(result))
            visible.add(id(result))
        op = op.next_op


def _raise_not_dominated(op: Operation, operand: SSAValue) -> None:
    index = next(i for i, value in enumerate(op.operands) if value is operand)
    where = "as a block argument" if isinstance(operand, BlockArgument) else "here"
    problem = "does not dominate this use"
    if (isolated := _isolated_op_between(op, operand)) is not None:
        problem = f"is defined outside of '{op_name(isolated)}', which sees no outer value"
    message = f"'{op_name(op)}' op operand #{index} {problem}"
    raise DiagnosticError(op, message, [note(operand, f"operand defined {where}")])


def _isolated_op_between(op: Operation, value: SSAValue) -> Operation | None:
    """The innermost op isolated from above that holds `op` and not `value`'s definition, if there is one."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    home = None if block is None else block.parent
    parent = op.parent_op()
    region = op.parent_region()
    isolated: Operation | None = None
    while parent is not None and region is not home:
        if isolated is None and parent.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            isolated = parent
        region = parent.parent_region()
        parent = parent.parent_op()
    return isolated if region is home else None
