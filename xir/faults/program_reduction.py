"""Makes a program smaller while it stays interesting, as `mlir-reduce` does.

Functions end earlier and begin later: a result is another value, and what an op computes becomes an argument. Sizes
become small ones. Constants become random ones in the end, so that no weights leave with the program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from xir.dialects import delegate, edge, xnnpack
from xir.dialects.xnnpack.subgraph import outside_type
from xir.faults.new_arguments import argument_for
from xir.faults.random_constants import constants_of, randomise
from xir.faults.shapes import resize, sizes_of, smaller_sizes, volume, ways
from xir.ir.context import XirContext
from xir.ir.passes import XirPass
from xir.ir.rewriting import rewrite_patterns

Interesting = Callable[[ModuleOp], bool]
"""Whether a smaller module still shows what the first one did."""

DELEGATES = delegate.RegionOp, delegate.GraphOp
"""Ops around those of a backend."""

SEEDS = range(3)
"""Of random constants, one after the other until one is interesting."""

SIZES = (1.0, None)
"""The quadratic means of random constants: large ones reach bounds in small tensors; None is that of what was there."""


def reduced(
    module: ModuleOp, ctx: XirContext, interesting: Interesting, progress: Callable[[int], None] = lambda _: None
) -> ModuleOp:
    """The smallest module found that is interesting, as `module` is. `progress` is told the number of ops left."""
    best, before = module.clone(), (0, 0)
    while before != (now := (size_of(best), volume(best))):
        before = now
        for step in (_shorter, _with_earlier_results, _without_ops, _with_random_constants, _smaller_shapes):
            best = step(best, ctx, interesting, progress)
    return best


def size_of(module: ModuleOp) -> int:
    """How many ops a module has that compute something. A delegate that only hands its operands on is one."""
    places = _places(module)
    parents = {op.parent_op() for op in places}
    return len(places) + sum(isinstance(op, DELEGATES) and op not in parents for op in module.walk())


def _places(module: ModuleOp) -> list[Operation]:
    """The ops that may go: those with results, in functions and graphs, in their order."""
    stay = (*DELEGATES, edge.ConstantOp, xnnpack.ConstantOp)
    return [op for op in module.walk() if op.results and not isinstance(op, stay)]


def _clean(module: ModuleOp) -> None:
    """Drop what nothing uses: ops, results of graphs and their operands, and arguments."""
    for _ in range(10):
        before = sum(1 for _ in module.walk())
        rewrite_patterns(module, [])
        for op in list(module.walk()):
            if isinstance(op, xnnpack.SubgraphOp):
                _clean_graph(op)
        for op in module.body.ops:
            if isinstance(op, FuncOp):
                _clean_function(op)
        if sum(1 for _ in module.walk()) == before:
            return


def _clean_graph(op: xnnpack.SubgraphOp) -> None:
    """Drop a graph's unused results and operands."""
    kept = [result for result in op.results if result.first_use is not None]
    used = [index for index, argument in enumerate(op.body.block.args) if argument.first_use is not None]
    if not kept or (len(kept) == len(op.results) and len(used) == len(op.operands)):
        return
    yielded = [op.yield_op.operands[result.index] for result in kept]
    op.yield_op.operands = yielded
    operands = [op.operands[index] for index in used]
    for index in reversed(range(len(op.body.block.args))):
        if index not in used:
            op.body.block.erase_arg(op.body.block.args[index])
    region = op.detach_region(0)
    made = xnnpack.SubgraphOp.create(
        operands=operands,
        result_types=[result.type for result in kept],
        properties=dict(op.properties),
        regions=[region],
    )
    made.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(made, op)
    for old, new in zip(kept, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def _clean_function(function: FuncOp) -> None:
    """Drop a function's unused arguments, and write its type anew."""
    block = function.body.block
    attributes = list(function.arg_attrs.data) if function.arg_attrs is not None else None
    for index in reversed(range(len(block.args))):
        if block.args[index].first_use is None:
            block.erase_arg(block.args[index])
            if attributes is not None:
                del attributes[index]
    if attributes is not None:
        function.arg_attrs = ArrayAttr(attributes)
    _retype(function)


def _retype(function: FuncOp) -> None:
    last = function.body.block.last_op
    assert last is not None
    inputs, outputs = [argument.type for argument in function.body.block.args], [value.type for value in last.operands]
    if list(function.function_type.outputs) != outputs:
        function.res_attrs = None
    function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    for name in ("xir.in_spec", "xir.out_spec"):
        function.attributes.pop(name, None)


def _tried(module: ModuleOp, interesting: Interesting, change: Callable[[ModuleOp], bool]) -> ModuleOp | None:
    """A copy with a change, if that is possible and the copy interesting."""
    copy = module.clone()
    try:
        if not change(copy):
            return None
        _clean(copy)
        copy.verify()
        return copy if interesting(copy) else None
    except Exception:
        # What does not even fit together is not what was looked for.
        return None


def _shorter(module: ModuleOp, ctx: XirContext, interesting: Interesting, progress: Callable[[int], None]) -> ModuleOp:
    """End each function at the first op with which it is still interesting."""
    for number in range(sum(isinstance(op, FuncOp) for op in module.body.ops)):
        count = len(_places(module))
        for place in range(count):
            smaller = _tried(module, interesting, lambda copy, n=number, p=place: _end_at(copy, n, p))
            if smaller is not None and size_of(smaller) <= size_of(module):
                progress(size_of(smaller))
                module = smaller
                break
    return module


def _end_at(module: ModuleOp, number: int, place: int) -> bool:
    """Let a function return the first result of an op, and nothing else."""
    function = [op for op in module.body.ops if isinstance(op, FuncOp)][number]
    op = _places(module)[place]
    value: SSAValue = op.results[0]
    block = op.parent
    while block is not None and (parent := block.parent_op()) is not function:
        if isinstance(parent, xnnpack.SubgraphOp):
            parent.yield_op.operands = [value]
            region = parent.detach_region(0)
            made: Operation = xnnpack.SubgraphOp.create(
                operands=list(parent.operands),
                result_types=[outside_type(value.type)],
                properties=dict(parent.properties),
                regions=[region],
            )
        elif isinstance(parent, delegate.RegionOp):
            parent.yield_op.operands = [value]
            made = delegate.RegionOp(parent.backend.data, [value.type], parent.detach_region(0))
        else:
            return False
        made.location = parent.location
        outer = parent.parent
        assert outer is not None
        outer.insert_op_before(made, parent)
        for result in list(parent.results):
            for use in list(result.uses):
                if not isinstance(use.operation, ReturnOp):
                    _erase_behind(use.operation)
        value, block = made.results[0], outer
    last = function.body.block.last_op
    if not isinstance(last, ReturnOp):
        return False
    last.operands = [value]
    for each in reversed(list(function.body.block.ops)):
        if each is not last and all(result.first_use is None for result in each.results):
            each.detach()
            each.erase(safe_erase=False)
    return True


def _with_earlier_results(
    module: ModuleOp, ctx: XirContext, interesting: Interesting, progress: Callable[[int], None]
) -> ModuleOp:
    """Return what an op reads in the place of what it computes, for what shows in several results together."""
    number = 0
    while number < len(_outputs(module)):
        smaller = _tried(module, interesting, lambda copy, n=number: _return_operands(copy, n))
        if smaller is not None and size_of(smaller) < size_of(module):
            progress(size_of(smaller))
            module = smaller
        else:
            number += 1
    return module


def _outputs(module: ModuleOp) -> list[tuple[ReturnOp | xnnpack.YieldOp, SSAValue]]:
    """What functions and graphs return."""
    ends = [op for op in module.walk() if isinstance(op, ReturnOp | xnnpack.YieldOp)]
    return [(end, value) for end in ends for value in end.operands]


def _return_operands(module: ModuleOp, number: int) -> bool:
    """Replace one output by the operands of the op that it comes from, as far as ops compute them."""
    end, value = _outputs(module)[number]
    owner = value.owner
    if not isinstance(owner, edge.EdgeOp | xnnpack.NodeOp):
        return False
    rest = [other for other in end.operands if other is not value]
    operands = [other for other in owner.operands if isinstance(other.owner, edge.EdgeOp | xnnpack.NodeOp)]
    values = list(dict.fromkeys([*rest, *operands]))
    if not values:
        return False
    if isinstance(end, xnnpack.YieldOp):
        _yield(end, rest, values)
    else:
        end.operands = values
    return True


def _yield(end: xnnpack.YieldOp, kept: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
    """Let a graph yield other values, those that are kept first. Of what is gone the function returns what is new."""
    graph = end.parent_op()
    assert isinstance(graph, xnnpack.SubgraphOp)
    results = dict(zip(end.operands, graph.results, strict=True))
    gone = [result for value, result in results.items() if value not in kept]
    for result in gone:
        for use in list(result.uses):
            if isinstance(use.operation, ReturnOp):
                use.operation.operands = [other for other in use.operation.operands if other is not result]
    old = [results[value] for value in kept]
    end.operands = list(values)
    made = xnnpack.SubgraphOp.create(
        operands=list(graph.operands),
        result_types=[outside_type(value.type) for value in values],
        properties=dict(graph.properties),
        regions=[graph.detach_region(0)],
    )
    made.location = graph.location
    block = graph.parent
    assert block is not None
    block.insert_op_before(made, graph)
    for before, after in zip(old, made.results, strict=False):
        before.replace_all_uses_with(after)
    last = block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = [*last.operands, *made.results[len(old) :]]
    graph.detach()
    graph.erase()


def _erase_behind(op: Operation) -> None:
    """Erase an op and all that depend on it."""
    for result in op.results:
        for use in list(result.uses):
            if not isinstance(use.operation, ReturnOp):
                _erase_behind(use.operation)
    if op.parent is not None:
        op.detach()
        op.erase(safe_erase=False)


def _without_ops(
    module: ModuleOp, ctx: XirContext, interesting: Interesting, progress: Callable[[int], None]
) -> ModuleOp:
    """Replace ops by arguments, many at once first."""
    size = max(1, len(_places(module)) // 2)
    while True:
        start = 0
        while start < len(_places(module)):
            smaller = _tried(module, interesting, lambda copy, s=start, n=size: _cut(copy, s, n))
            if smaller is not None and size_of(smaller) < size_of(module):
                progress(size_of(smaller))
                module = smaller
            else:
                start += size
        if size == 1:
            return module
        size //= 2


def _cut(module: ModuleOp, start: int, count: int) -> bool:
    """Make arguments of what some ops compute for others."""
    ops = _places(module)[start : start + count]
    going = set(ops)
    for op in ops:
        for result in op.results:
            if any(use.operation not in going for use in result.uses):
                argument = argument_for(op, result)
                if argument is None:
                    return False
                result.replace_all_uses_with(argument)
    for op in reversed(ops):
        if all(result.first_use is None for result in op.results):
            op.detach()
            op.erase(safe_erase=False)
    return True


def _with_random_constants(
    module: ModuleOp, ctx: XirContext, interesting: Interesting, progress: Callable[[int], None]
) -> ModuleOp:
    """Constants of random elements, if all may be."""
    every = range(sum(1 for _ in constants_of(module)))
    return _tried(module, interesting, lambda copy: _randomise(copy, ctx, every, 0, 1.0)) or module


def _smaller_shapes(
    module: ModuleOp, ctx: XirContext, interesting: Interesting, progress: Callable[[int], None]
) -> ModuleOp:
    """Smaller sizes, the largest first."""
    for size in sizes_of(module):
        tries = ((other, way) for other in smaller_sizes(size) for way in ways(size, other))
        for _, way in tries:
            smaller = _tried(module, interesting, lambda copy, way=way: resize(copy, ctx, way))
            if smaller is not None:
                progress(size_of(smaller))
                module = smaller
                break
    return module


def with_random_constants(module: ModuleOp, ctx: XirContext, interesting: Interesting) -> tuple[ModuleOp, int]:
    """Constants of random elements, all at once or those that it takes; and how many had to stay what they are."""
    count = sum(1 for _ in constants_of(module))
    for size in SIZES:
        smaller = _tried(module, interesting, lambda copy, size=size: _randomise(copy, ctx, range(count), 0, size))
        if smaller is not None:
            return smaller, 0
    kept = 0
    for number in range(count):
        if not _randomise(module.clone(), ctx, [number], 0, None):
            continue
        tries = (
            _tried(
                module, interesting, lambda copy, n=number, seed=seed, size=size: _randomise(copy, ctx, [n], seed, size)
            )
            for seed in SEEDS
            for size in SIZES
        )
        smaller = next((each for each in tries if each is not None), None)
        if smaller is None:
            kept += 1
        else:
            module = smaller
    return module, kept


def _randomise(module: ModuleOp, ctx: XirContext, numbers: Collection[int], seed: int, size: float | None) -> bool:
    """Randomise the constants of these numbers; False if none may be."""
    ops = [op for number, op in enumerate(constants_of(module)) if number in numbers]
    return [randomise(op, ctx, seed * len(ops) + number, size) for number, op in enumerate(ops)].count(True) > 0


def fewer_passes(passes: Sequence[XirPass], interesting: Callable[[list[XirPass]], bool]) -> list[XirPass]:
    """The passes that it takes, one left out after the other."""
    kept = list(passes)
    for each in passes:
        rest = [other for other in kept if other is not each]
        if rest and interesting(rest):
            kept = rest
    return kept
