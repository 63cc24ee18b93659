"""`raise-from-pte`: from the program of a `.pte` file back to functions, the inverse of `lower-to-pte`."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    Float64Type,
    IntegerType,
    ModuleOp,
    NoneType,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xir.dialects import edge, pte
from xir.dialects.delegate import GraphOp
from xir.ir.annotations import DIM_ORDER, IN_SPEC, OUT_SPEC, VALUE
from xir.ir.constants import dense_elements
from xir.ir.context import XirContext
from xir.ir.location import Locatable
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import RemarkKind, remark
from xir.ir.shapes import same_shape
from xir.ir.walking import ops_in
from xir.transforms.pte.raising.calls import raise_call
from xir.transforms.pte.raising.memory import PlaceContents, permuted, restoring
from xir.transforms.pte.raising.open_plans import has_open_sizes, mark_as_staying
from xir.transforms.pte.raising.open_sizes import Fixed, OpenSizes, check_bounded, fixed_dims
from xir.transforms.pte.raising.refusal import NotRaisedError

SIZES_KEY = "xir.sizes"
"""The named data in which xir's own files say which sizes go together. Bounds that such a file writes in place of open
sizes, as the end of a slice, cannot be told from numbers of the model's."""
OWN_SIZES = "its sizes are open, and xir has written bounds in place of some: compile the model once more"


@dataclass(frozen=True)
class RaiseFromPtePass(XirPass):
    """Turn the plans of a file back into functions, so that the program is optimised as a whole.

    A call of a kernel becomes the edge op that `lower-to-pte` would lower to it, a call of a delegate the backend's
    graph. What memory is called does not matter: a tensor holds what was last written to its bytes. A plan that does
    more than a function says, such as to jump, stays a plan, and so do those that share a mutable buffer with it; a
    remark has the reason.

    Of a tensor with open sizes the file has the bounds. Those of inputs are open in the function, unless no other size
    than the bound fits all that reads it; the sizes of all other tensors follow from them.

    Debug information by the numbers of instructions would no longer be true. It is removed: locations have it.

    Before:
    ```mlir
    pte.program {
      pte.execution_plan @forward {
        %0 = pte.tensor tensor<4xf32>
        %1 = pte.tensor tensor<4xf32>
        pte.chain {
          pte.kernel_call "aten::abs.out" (%0, %1, %1)
        }
        pte.signature inputs (%0) outputs (%1)
      }
    }
    ```
    After:
    ```mlir
    func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.KERNELS

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Raise what can be raised; the order of the methods stays."""
        for program in [each for each in op.body.ops if isinstance(each, pte.ProgramOp)]:
            raised = self._raised(program, ctx)
            if raised:
                _forget_debug_info(program, *raised.values())
                _replace(program, raised)

    def _raised(self, program: pte.ProgramOp, ctx: XirContext) -> dict[pte.ExecutionPlanOp, FuncOp]:
        raised: dict[pte.ExecutionPlanOp, FuncOp] = {}
        kept: set[str] = set()
        """The buffers of plans that stay."""
        says_sizes = any(each.key.data == SIZES_KEY for each in program.named_data)
        for plan in program.plans:
            if is_constant(plan):
                continue
            try:
                if says_sizes and has_open_sizes(plan):
                    raise NotRaisedError(plan, OWN_SIZES)
                raised[plan] = raise_plan(plan)
            except NotRaisedError as error:
                kept.update(_buffers(plan))
                self.stays(plan, error.where, error.reason, ctx)
        while clash := [plan for plan in raised if not kept.isdisjoint(_buffers(plan))]:
            for plan in clash:
                raised.pop(plan).erase()
                kept.update(_buffers(plan))
                self.stays(plan, plan, "it shares a buffer with a method that stays as it is", ctx)
        return raised

    def stays(self, plan: pte.ExecutionPlanOp, where: Locatable, reason: str, ctx: XirContext) -> None:
        """Remark that a plan is not raised, and why."""
        mark_as_staying(plan)
        text = f"method {plan.sym_name.data} stays as it is"
        ctx.diagnostics.emit(remark(RemarkKind.MISSED, where, self.name, "not-raised", text, reason=reason))


def is_constant(plan: pte.ExecutionPlanOp) -> bool:
    """Whether a method only answers what the file has."""
    return not any(True for chain in plan.chains for _ in chain.instructions) and not plan.signature.inputs


def raise_plan(plan: pte.ExecutionPlanOp) -> FuncOp:
    """The function that computes what a plan does, which stays as it is. NotRaisedError if there is none."""
    function = _raised(plan, frozenset())
    if fixed := fixed_dims(function):
        function.erase()
        function = _raised(plan, fixed)
    return function


def _raised(plan: pte.ExecutionPlanOp, fixed: Fixed) -> FuncOp:
    raiser = _Raiser(plan, fixed)
    for op in _instructions(plan):
        raiser.instruction(op)
    return raiser.function()


class _Raiser:
    """Makes the function of one plan."""

    def __init__(self, plan: pte.ExecutionPlanOp, fixed: Fixed):
        self.plan = plan
        self.block = Block()
        self.attributes: list[DictionaryAttr] = []
        self.delegates = {each.sym_name.data: each for each in plan.delegates}
        self.memory = PlaceContents(plan, OpenSizes(plan, fixed), self.block.add_op)
        for value in plan.signature.inputs:
            self.input(value)

    # Ends.

    def input(self, value: SSAValue) -> None:
        """Add an argument of the function."""
        if not isinstance(value.owner, pte.TensorOp):
            self.fixed_input(value)
            return
        tensor = check_bounded(value.owner, self.plan)
        if tensor.data is not None or tensor.buffer is not None:
            raise NotRaisedError(tensor, "an input has contents of its own")
        number = len(self.block.args)
        argument = self.block.insert_arg(self.memory.sizes.input_type(tensor, number), number)
        self.attributes.append(DictionaryAttr({**_dim_order(tensor), **self.memory.sizes.begin(argument, tensor)}))
        self.memory.write(tensor, permuted(argument, restoring(tensor.order), self.block.add_op))

    def fixed_input(self, value: SSAValue) -> None:
        """An input that is no tensor: the caller has to give what the file has."""
        if value in self.memory.computed:
            raise NotRaisedError(self.plan, "it changes an input that is no tensor")
        fixed: Attribute
        match value.owner:
            case pte.NullOp():
                fixed = UnitAttr()
            case pte.IntOp() as op:
                fixed = op.int_val
            case pte.DoubleOp() as op:
                fixed = op.double_val
            case pte.BoolOp() as op:
                fixed = op.bool_val
            case pte.StringOp() as op:
                fixed = op.string_val
            case _:
                raise NotRaisedError(self.plan, "an input is a list")
        self.block.insert_arg(getattr(fixed, "type", NoneType()), len(self.block.args))
        self.attributes.append(DictionaryAttr({VALUE: fixed}))

    def output(self, value: SSAValue) -> SSAValue:
        """What the function returns for an output: a tensor as memory has it."""
        match value.owner:
            case pte.NullOp():
                op = edge.NoneOp()
                self.block.add_op(op)
                return op.result
            case pte.TensorOp() as tensor:
                check_bounded(tensor, self.plan)
                if not _is_copied_to(tensor.order):
                    raise NotRaisedError(tensor, f"no kernel copies an output into the order {list(tensor.order)}")
                return permuted(self.memory.read(tensor, tensor), tensor.order, self.block.add_op)
            case _ if value in self.memory.numbers:
                return self.memory.numbers[value]
            case pte.IntOp() | pte.BoolOp() | pte.DoubleOp() as number if value not in self.memory.computed:
                return self.constant(number)
            case _:
                raise NotRaisedError(self.plan, "an output is neither a tensor nor a number")

    def constant(self, number: pte.IntOp | pte.BoolOp | pte.DoubleOp) -> SSAValue:
        """A number that is returned in any case, as the element of a constant."""
        type, data = _number(number)
        tensor = edge.ConstantOp(dense_elements(TensorType(type, []), data), number.location)
        element = edge.op("_local_scalar_dense").build_from({"self": tensor.result}, [type], number.location)
        self.block.add_ops([tensor, element])
        return element.results[0]

    def function(self) -> FuncOp:
        """The function, after the instructions."""
        outputs = self.plan.signature.outputs
        results = [self.output(value) for value in outputs]
        orders = [_dim_order(each.owner) if isinstance(each.owner, pte.TensorOp) else {} for each in outputs]
        for tensor, buffer in self.memory.buffers.items():
            if (now := self.memory.contents(tensor)) is not buffer.result:
                self.block.add_op(edge.UpdateBufferOp(buffer.result, now, tensor.location))
        self.block.add_op(ReturnOp(*results))
        function = FuncOp(
            self.plan.sym_name.data,
            ([argument.type for argument in self.block.args], [result.type for result in results]),
            Region(self.block),
            arg_attrs=ArrayAttr(self.attributes) if any(each.data for each in self.attributes) else None,
            res_attrs=ArrayAttr(map(DictionaryAttr, orders)) if any(orders) else None,
        )
        for name, text in ((IN_SPEC, self.plan.encoded_inp_str), (OUT_SPEC, self.plan.encoded_out_str)):
            if text is not None:
                function.attributes[name] = text
        return function

    # Instructions.

    def instruction(self, op: pte.InstructionOp) -> None:
        """Add what an instruction computes."""
        match op:
            case pte.KernelCallOp():
                raise_call(op, self.memory, self.block.add_op)
            case pte.DelegateCallOp():
                self.delegate_call(op)
            case pte.MoveOp() | pte.JumpFalseOp():
                raise NotRaisedError(op, "it branches or loops")
            case _:
                raise NotRaisedError(op, f"'{op.name}' has no form in a function")

    def delegate_call(self, call: pte.DelegateCallOp) -> None:
        """Add a delegate's graph, which takes and gives tensors as memory has them."""
        delegate = self.delegates[call.delegate.root_reference.data]
        graph = delegate.graph
        if graph is None:
            raise NotRaisedError(call, f"only {delegate.id.data} knows what its delegate computes")
        if delegate.compile_specs is not None and delegate.compile_specs.data:
            raise NotRaisedError(call, "a delegate has options of its own")
        count = len(graph.operands)
        if len(call.args) != count + len(graph.results):
            raise NotRaisedError(call, "it hands a delegate another number of values than that takes")
        tensors = [self.tensor(value, call) for value in call.args]
        operands: dict[SSAValue, SSAValue] = {}
        for tensor, inner in zip(tensors[:count], graph.operands, strict=True):
            in_memory = permuted(self.memory.read(tensor, call), tensor.order, self.block.add_op)
            operands[inner] = self.as_type(in_memory, inner.type, call)
        made = graph.clone(operands)
        self.block.add_op(made)
        self.memory.sizes.complete_graph(made, call)
        for tensor, result in zip(tensors[count:], made.results, strict=True):
            in_memory = self.as_type(result, _memory_type(tensor), call)
            self.memory.compute(tensor, permuted(in_memory, restoring(tensor.order), self.block.add_op), call)

    def as_type(self, value: SSAValue, type: Attribute, call: Operation) -> SSAValue:
        """A value between a delegate and the plan, where its shape may have another number of dimensions: ExecuTorch
        hands over bytes, such as those of a scalar to a delegate that takes one element."""
        given = value.type
        if given == type:
            return value
        assert isinstance(given, TensorType)
        assert isinstance(type, TensorType)
        if given.element_type == type.element_type and same_shape(given.get_shape(), type.get_shape()):
            return value
        if not given.has_static_shape():
            raise NotRaisedError(call, f"it hands {given} to or from a delegate, which has {type}")
        if given.element_type != type.element_type or prod(given.get_shape()) != prod(type.get_shape()):
            raise NotRaisedError(call, f"it hands {given} to or from a delegate, which has {type}")
        view = edge.ViewOp(self=value, size=type.get_shape(), location=call.location)
        self.block.add_op(view)
        return view.results[0]

    def tensor(self, value: SSAValue, where: Operation) -> pte.TensorOp:
        """What a delegate's argument is."""
        if not isinstance(value.owner, pte.TensorOp):
            raise NotRaisedError(where, "it hands a delegate something else than tensors")
        return check_bounded(value.owner, where)


def _instructions(plan: pte.ExecutionPlanOp) -> Iterator[pte.InstructionOp]:
    chains = list(plan.chains)
    if len(chains) != 1:
        raise NotRaisedError(plan, f"it has {len(chains)} chains")
    return chains[0].instructions


def _dim_order(tensor: pte.TensorOp) -> dict[str, Attribute]:
    """What says that the caller sees a tensor's dimensions in another order than memory has them."""
    is_ordered = tensor.order == tuple(range(len(tensor.order)))
    return {} if is_ordered else {DIM_ORDER: DenseArrayBase.from_list(i64, tensor.order)}


def _is_copied_to(order: tuple[int, ...]) -> bool:
    """Whether ExecuTorch's `_to_dim_order_copy` writes memory of an order: the tensor's own, and channels last."""
    own = tuple(range(len(order)))
    return order == own or (len(order) in {4, 5} and order == (0, *own[2:], 1))


def _number(number: pte.IntOp | pte.BoolOp | pte.DoubleOp) -> tuple[IntegerType | Float64Type, bytes]:
    """The type and the bytes of a number."""
    match number:
        case pte.IntOp():
            return i64, struct.pack("<q", number.int_val.value.data)
        case pte.BoolOp():
            return i1, struct.pack("<?", number.bool_val.value.data)
        case _:
            return f64, struct.pack("<d", number.double_val.value.data)


def _memory_type(tensor: pte.TensorOp) -> TensorType:
    return TensorType(tensor.tensor_type.element_type, tensor.memory_shape)


def _buffers(plan: pte.ExecutionPlanOp) -> set[str]:
    return {op.buffer for op in plan.values if isinstance(op, pte.TensorOp) and op.buffer is not None}


def _forget_debug_info(program: pte.ProgramOp, *functions: FuncOp) -> None:
    """Remove what tells of nodes and instructions by their numbers."""
    for data in list(program.named_data):
        if data.key.data == pte.DEBUG_INFO_KEY:
            data.detach()
            data.erase()
    for graph in (graph for each in (program, *functions) for graph in ops_in(each, GraphOp)):
        for op in graph.block.ops:
            op.properties.pop("debug_handle", None)


def _replace(program: pte.ProgramOp, raised: Mapping[pte.ExecutionPlanOp, FuncOp]) -> None:
    """Put functions in the place of plans; those between them stay in programs of their own."""
    module = program.parent
    assert module is not None
    runs: list[FuncOp | list[Operation]] = []
    for op in list(program.body.block.ops):
        function = raised.get(op) if isinstance(op, pte.ExecutionPlanOp) else None
        if function is not None:
            runs.append(function)
            continue
        op.detach()
        if runs and isinstance(last := runs[-1], list):
            last.append(op)
        else:
            runs.append([op])
    for run in runs:
        made = run if isinstance(run, FuncOp) else _program_like(program, run)
        module.insert_op_before(made, program)
    program.detach()
    program.erase()


def _program_like(program: pte.ProgramOp, ops: list[Operation]) -> pte.ProgramOp:
    made = pte.ProgramOp.build(properties=dict(program.properties), regions=[Region(Block(ops))])
    made.location = program.location
    return made
