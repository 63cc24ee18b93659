"""Ops that hold a program together: the program, its plans, their delegates and chains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from xir.dialects.delegate import GraphOp
from xir.dialects.pte.assembly import Values
from xir.dialects.pte.attributes import BufferDeviceAttr, CompileSpecAttr
from xir.dialects.pte.instructions import DelegateCallOp, InstructionOp, JumpFalseOp
from xir.dialects.pte.values import BoolOp, DoubleOp, IntOp, StringOp, TensorOp, ValueOp

OpT = TypeVar("OpT", bound=Operation)

DEBUG_INFO_KEY = "xir.debug"
"""The named data with xir's debug information (`xir/schema/debug.fbs`)."""

SEGMENT_ALIGNMENT = 128
"""What ExecuTorch aligns segments to unless told otherwise."""


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """A whole `.pte` file.

    ```mlir
    pte.program {
      pte.execution_plan @forward arenas [0, 96] {
        %0 = pte.tensor tensor<4xf32> planned <1, 0>
        %1 = pte.tensor tensor<4xf32> planned <1, 16>
        pte.chain {
          pte.kernel_call "aten::abs.out" (%0, %1, %1)
        }
        pte.signature inputs (%0) outputs (%1)
      }
    }
    ```
    """

    name = "pte.program"

    version = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(0, i64))
    segment_alignment = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(SEGMENT_ALIGNMENT, i64))
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolTable())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict-with-keyword $body"

    @property
    def plans(self) -> Iterator[ExecutionPlanOp]:
        """The methods, in order."""
        return _ops_of(self.body, ExecutionPlanOp)

    @property
    def named_data(self) -> Iterator[NamedDataOp]:
        """The named data that no delegate's graph brings along, in order."""
        return _ops_of(self.body, NamedDataOp)

    def verify_(self) -> None:
        alignment = self.segment_alignment.value.data
        if alignment < 1 or alignment.bit_count() != 1:
            raise VerifyException(f"segment_alignment must be a power of two, it is {alignment}")
        for op in self.body.block.ops:
            if not isinstance(op, ExecutionPlanOp | NamedDataOp):
                raise VerifyException(f"'{op.name}' does not belong into a program")
        keys = [op.key.data for op in self.named_data]
        if len(set(keys)) != len(keys):
            raise VerifyException("named data must have distinct keys")


@irdl_op_definition
class NamedDataOp(IRDLOperation):
    """Bytes that delegates find by name. Data that follow from the delegates' graphs, such as weights, are not listed.

    ```mlir
    pte.named_data "weights" dense_resource<weights> : tensor<64xi8>
    ```
    """

    name = "pte.named_data"

    key = prop_def(StringAttr)
    data = prop_def(base(DenseIntOrFPElementsAttr) | base(DenseResourceAttr))

    traits = traits_def(HasParent(ProgramOp))

    assembly_format = "$key $data attr-dict"


@irdl_op_definition
class ExecutionPlanOp(IRDLOperation):
    """One method: its delegates, its values, its chains of instructions, and which values go in and out.

    `non_const_buffer_sizes` are the arenas' sizes in bytes; the first is always 0 and stands for the constants.
    `encoded_inp_str` and `encoded_out_str` describe how inputs and outputs nest (pytree). `input_sizes` has a text for
    each dimension of each input: "" for a fixed size, otherwise a name, with the least size if known ("s0>=4").
    Dimensions with the same name have the same size; "?" is unique. Without `input_sizes`, every size of a dynamic
    tensor is open.
    """

    name = "pte.execution_plan"

    sym_name = prop_def(SymbolNameConstraint())
    non_const_buffer_sizes = opt_prop_def(DenseArrayBase.constr(i64))
    non_const_buffer_device = opt_prop_def(ArrayAttr.constr(base(BufferDeviceAttr)))
    encoded_inp_str = opt_prop_def(StringAttr)
    encoded_out_str = opt_prop_def(StringAttr)
    input_sizes = opt_prop_def(ArrayAttr.constr(ArrayAttr.constr(base(StringAttr))))
    body = region_def("single_block")

    traits = lazy_traits_def(lambda: (HasParent(ProgramOp), SymbolOpInterface(), SymbolTable()))

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name (`arenas` $non_const_buffer_sizes^)? attr-dict-with-keyword $body"

    @classmethod
    def constant(cls, name: str, values: Sequence[int | float | str]) -> ExecutionPlanOp:
        """A method that answers values that are known. ExecuTorch wants a chain, if an empty one."""
        ops = [_constant(value) for value in values]
        body = Block([*ops, ChainOp(()), SignatureOp((), [op.value for op in ops])])
        return cls.build(
            properties={"sym_name": StringAttr(name), "non_const_buffer_sizes": DenseArrayBase.from_list(i64, [0])},
            regions=[Region(body)],
        )

    @property
    def delegates(self) -> Iterator[DelegateOp]:
        """The delegates, in order."""
        return _ops_of(self.body, DelegateOp)

    @property
    def values(self) -> Iterator[ValueOp]:
        """The values, in order."""
        return _ops_of(self.body, ValueOp)

    @property
    def chains(self) -> Iterator[ChainOp]:
        """The chains, in order."""
        return _ops_of(self.body, ChainOp)

    @property
    def signature(self) -> SignatureOp:
        """The values that go in and out."""
        signature = self.body.block.last_op
        assert isinstance(signature, SignatureOp)
        return signature

    def verify_(self) -> None:
        if not isinstance(self.body.block.last_op, SignatureOp):
            raise VerifyException("a plan must end with pte.signature")
        for op in self.body.block.ops:
            if not isinstance(op, DelegateOp | ValueOp | ChainOp | SignatureOp):
                raise VerifyException(f"'{op.name}' does not belong into an execution plan")
        if self.input_sizes is not None:
            self._verify_input_sizes([[text.data for text in each] for each in self.input_sizes])
        names = {delegate.sym_name.data for delegate in self.delegates}
        for chain in self.chains:
            for op in chain.instructions:
                if isinstance(op, DelegateCallOp) and op.delegate.root_reference.data not in names:
                    raise VerifyException(f"there is no delegate @{op.delegate.root_reference.data}")
        if self.non_const_buffer_sizes is not None:
            self._verify_arenas([int(size) for size in self.non_const_buffer_sizes.get_values()])

    def _verify_input_sizes(self, inputs: Sequence[Sequence[str]]) -> None:
        values = self.signature.inputs
        if len(inputs) != len(values):
            raise VerifyException(f"input_sizes are of {len(inputs)} inputs, the plan has {len(values)}")
        for index, (texts, value) in enumerate(zip(inputs, values, strict=True)):
            op = value.owner
            rank = op.tensor_type.get_num_dims() if isinstance(op, TensorOp) else 0
            if len(texts) not in (0, rank):
                raise VerifyException(f"input_sizes are of {len(texts)} dimensions of input {index}, which has {rank}")
            for text in texts:
                least = text.partition(">=")[2]
                if ">=" in text and not (least.isdecimal() and int(least) < 2**31):
                    raise VerifyException(f"'{text}' of input {index} has no least size behind '>='")

    def _verify_arenas(self, sizes: Sequence[int]) -> None:
        if not sizes or sizes[0] != 0:
            raise VerifyException("the first arena stands for the constants and has the size 0")
        for op in self.values:
            if not isinstance(op, TensorOp) or op.allocation_info is None:
                continue
            arena, offset = op.allocation_info.memory_id.data, op.allocation_info.offset.data
            if arena >= len(sizes):
                raise VerifyException(f"a tensor is planned in arena {arena}, the plan has {len(sizes) - 1}")
            if offset + op.nbytes > sizes[arena]:
                what = f"a tensor of {op.nbytes} bytes at offset {offset}"
                raise VerifyException(f"{what} reaches beyond arena {arena} of {sizes[arena]} bytes")


@irdl_op_definition
class SignatureOp(IRDLOperation):
    """The inputs and outputs of a plan, in the order of the method's arguments and results.

    ```mlir
    pte.signature inputs (%0) outputs (%1)
    ```
    """

    name = "pte.signature"

    inputs = var_operand_def(AnyAttr())
    outputs = var_operand_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(IsTerminator(), HasParent(ExecutionPlanOp))

    custom_directives = (Values,)
    assembly_format = (
        "`inputs` custom<Values>($inputs, type($inputs)) `outputs` custom<Values>($outputs, type($outputs)) attr-dict"
    )

    def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]):
        super().__init__(operands=[inputs, outputs])


@irdl_op_definition
class ChainOp(IRDLOperation):
    """Instructions that run one after the other. ExecuTorch writes one chain for each plan, without inputs and outputs.

    ```mlir
    pte.chain {
      pte.kernel_call "aten::abs.out" (%0, %1, %1)
    }
    ```
    """

    name = "pte.chain"

    inputs = var_operand_def(AnyAttr())
    outputs = var_operand_def(AnyAttr())
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(NoTerminator(), HasParent(ExecutionPlanOp))

    custom_directives = (Values,)
    assembly_format = (
        "(`inputs` custom<Values>($inputs, type($inputs))^)? (`outputs` custom<Values>($outputs, type($outputs))^)? "
        "attr-dict-with-keyword $body"
    )

    def __init__(
        self, instructions: Sequence[Operation], inputs: Sequence[SSAValue] = (), outputs: Sequence[SSAValue] = ()
    ):
        super().__init__(operands=[inputs, outputs], regions=[Region(Block(instructions))])

    @property
    def instructions(self) -> Iterator[InstructionOp]:
        """The instructions, in order."""
        return _ops_of(self.body, InstructionOp)

    def verify_(self) -> None:
        count = 0
        jumps: list[JumpFalseOp] = []
        for op in self.body.walk():
            if not isinstance(op, InstructionOp):
                raise VerifyException(f"'{op.name}' is not an instruction")
            count += 1
            if isinstance(op, JumpFalseOp):
                jumps.append(op)
        for jump in jumps:
            if jump.destination > count:
                raise VerifyException(f"a jump to instruction {jump.destination} leaves the chain, which has {count}")


@irdl_op_definition
class DelegateOp(IRDLOperation):
    """A part of the program that a backend runs: a graph in the backend's dialect, or bytes that only it understands.

    The region has one graph, such as `xnnpack.subgraph`, between the block's arguments and `pte.yield`. `processed` has
    the bytes of an unknown backend. `inline` means that the bytes are in the FlatBuffer instead of a segment of their
    own. `value_ids` are the ids of the graph's values in a file that was read (arguments, then results of its ops in
    order), so that the file can be written unchanged; without them, or when they no longer fit, the backend's writer
    assigns ids.

    ```mlir
    pte.delegate @delegate_0 "XnnpackBackend" {
    ^bb0(%0: tensor<4xf32>):
      %1 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> { ... }
      pte.yield %1 : tensor<4xf32>
    }
    pte.delegate @delegate_1 "CoreMLBackend" processed dense_resource<blob> : tensor<512xi8>
    ```
    """

    name = "pte.delegate"

    sym_name = prop_def(SymbolNameConstraint())
    id = prop_def(StringAttr)
    compile_specs = opt_prop_def(ArrayAttr.constr(base(CompileSpecAttr)))
    processed = opt_prop_def(base(DenseIntOrFPElementsAttr) | base(DenseResourceAttr))
    inline = opt_prop_def(UnitAttr)
    value_ids = opt_prop_def(DenseArrayBase.constr(i64))
    body = opt_region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), HasParent(ExecutionPlanOp), SymbolOpInterface())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sym_name $id (`processed` $processed^)? attr-dict-with-keyword ($body^)?"

    def __init__(
        self,
        sym_name: str,
        id: str,
        *,
        body: Region | None = None,
        processed: Attribute | None = None,
        compile_specs: Attribute | None = None,
        inline: bool = False,
        value_ids: Attribute | None = None,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(sym_name),
                "id": StringAttr(id),
                "processed": processed,
                "compile_specs": compile_specs,
                "inline": UnitAttr() if inline else None,
                "value_ids": value_ids,
            },
            regions=[body],
        )

    @property
    def graph(self) -> GraphOp | None:
        """What the backend runs; None where that is bytes."""
        if self.body is None:
            return None
        op = self.body.block.first_op
        return op if isinstance(op, GraphOp) else None

    def verify_(self) -> None:
        if (self.body is None) == (self.processed is None):
            raise VerifyException("a delegate has either a region or processed bytes")
        if self.body is None:
            return
        graph, end = self.graph, self.body.block.last_op
        if graph is None or not isinstance(end, YieldOp) or graph.next_op is not end:
            raise VerifyException("a delegate's region holds one backend's graph, then pte.yield")
        if tuple(graph.operands) != self.body.block.args:
            raise VerifyException("the graph must take the block's arguments in order")
        if tuple(end.values) != tuple(graph.results):
            raise VerifyException("the graph's results must be yielded in order")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """End a delegate's region and name its outputs."""

    name = "pte.yield"

    values = var_operand_def(AnyAttr())

    traits = traits_def(IsTerminator(), HasParent(DelegateOp))

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


def _constant(value: float | str) -> ValueOp:
    match value:
        case bool():
            return BoolOp.make(bool_val=IntegerAttr.from_bool(value))
        case int():
            return IntOp.make(int_val=IntegerAttr(value, i64))
        case float():
            return DoubleOp.make(double_val=FloatAttr(value, f64))
        case str():
            return StringOp.make(string_val=StringAttr(value))


def _ops_of(region: Region, kind: type[OpT]) -> Iterator[OpT]:
    # An empty region, "{}", has no block.
    return (op for block in region.blocks for op in block.ops if isinstance(op, kind))
