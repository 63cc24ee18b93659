"""A graph as bytes, and back: the format of `native/masks/program.h`."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.plugin import (
    Blob,
    DebugInfoWriter,
    DiagnosticError,
    FormatError,
    ReadBlob,
    XirContext,
    constant_array,
    make_dense,
)
from xir_masks.dialect import ComputeOp, ConstantOp, MasksGraphOp, ReshapeOp, YieldOp
from xir_masks.operation import CODES, Operation, arity

MAGIC = b"XMSK"
VERSION = 1
HEADER = struct.Struct("<4sIII")
VALUE = struct.Struct("<BBBBIIIII")
NONE = 0xFFFFFFFF
NO_HANDLE = 65535
ARGUMENT, CONSTANT, FIRST_OPERATION = 0, 1, 16
IS_RESULT = 1
ALIGNMENT = 8

CODE_OF_ELEMENT: Mapping[Attribute, int] = {i32: 3, i64: 4, f32: 6, i1: 11}
ELEMENT_OF_CODE = {code: element for element, code in CODE_OF_ELEMENT.items()}
DTYPES = {i32: np.dtype("<i4"), i64: np.dtype("<i8"), f32: np.dtype("<f4"), i1: np.dtype("?")}
OPERATIONS = list(Operation)


def write(graph: MasksGraphOp, ctx: XirContext, debug_info: DebugInfoWriter | None) -> Blob:
    """The bytes of a graph whose shapes are static."""
    values: list[SSAValue] = [*graph.block.args, *(op.results[0] for op in graph.block.ops if op.results)]
    ids = {value: index for index, value in enumerate(values)}
    num_inputs = len(graph.block.args)
    results = {value: num_inputs + index for index, value in enumerate(graph.block_outputs)}
    constants = bytearray()
    records: list[bytes] = []
    for value in values:
        op = None if isinstance(value.owner, Block) else value.owner
        kind, operands = ARGUMENT, [ids[value]]
        if isinstance(op, ConstantOp):
            constants += bytes(-len(constants) % ALIGNMENT)
            kind, operands = CONSTANT, [len(constants)]
            constants += np.ascontiguousarray(constant_array(op.value, ctx, op)).tobytes()
        elif isinstance(op, ComputeOp):
            kind, operands = FIRST_OPERATION + CODES[op.operation.data], [ids[operand] for operand in op.inputs]
        elif isinstance(op, ReshapeOp):
            drop, insert = op.dimensions
            kind, operands = FIRST_OPERATION + CODES[Operation.RESHAPE], [ids[op.input], _bits(drop), _bits(insert)]
        handle = debug_info.handle(op.location) if op is not None and debug_info is not None else NO_HANDLE
        result = results.get(value, NONE)
        assert isinstance(value.type, TensorType)
        shape = value.type.get_shape()
        if DYNAMIC_INDEX in shape:
            raise DiagnosticError(graph, "a graph in a file has the largest size of each dimension")
        operands += [NONE] * (3 - len(operands))
        flags = IS_RESULT if result != NONE else 0
        code = CODE_OF_ELEMENT[value.type.element_type]
        records.append(VALUE.pack(kind, code, len(shape), flags, handle, *operands, result))
        records.append(struct.pack(f"<{len(shape)}I", *shape))
    header = HEADER.pack(MAGIC, VERSION, len(values), len(constants))
    return Blob(header + b"".join(records) + bytes(constants))


def _bits(dims: Sequence[int]) -> int:
    return sum(1 << dim for dim in dims)


def _dims(bits: int) -> list[int]:
    return [dim for dim in range(32) if bits >> dim & 1]


def read(data: memoryview, ctx: XirContext) -> ReadBlob:
    """The graph of bytes that nobody vouches for. FormatError where they are no graph."""
    try:
        return _Reader(bytes(data), ctx).read()
    except struct.error:
        raise FormatError("a program of masks ends too early") from None
    except VerifyException as error:
        raise FormatError(str(error)) from None


class _Reader:
    """Reads value by value."""

    def __init__(self, data: bytes, ctx: XirContext):
        self.data = data
        self.ctx = ctx
        self.block = Block()
        self.values: list[SSAValue] = []
        self.results: dict[int, SSAValue] = {}

    def read(self) -> ReadBlob:
        magic, version, num_values, num_bytes = HEADER.unpack_from(self.data)
        if (magic, version) != (MAGIC, VERSION):
            raise FormatError("it is no program of masks of version 1")
        self.constants = self.data[len(self.data) - num_bytes :] if num_bytes else b""
        offset = HEADER.size
        for _ in range(num_values):
            kind, code, rank, _flags, _handle, *operands, result = VALUE.unpack_from(self.data, offset)
            offset += VALUE.size
            shape = struct.unpack_from(f"<{rank}I", self.data, offset)
            offset += 4 * rank
            if code not in ELEMENT_OF_CODE:
                raise FormatError(f"{code} is no element type of masks")
            type = TensorType(ELEMENT_OF_CODE[code], shape)
            value = self.value(kind, type, operands)
            self.values.append(value)
            if result != NONE:
                self.results[result] = value
        if len(self.constants) != num_bytes or offset + num_bytes != len(self.data):
            raise FormatError("a program of masks has another size than it says")
        return self.graph()

    def value(self, kind: int, type: TensorType, operands: list[int]) -> SSAValue:
        if kind == ARGUMENT:
            if operands[0] != len(self.block.args):
                raise FormatError("arguments are numbered in order")
            return self.block.insert_arg(type, len(self.block.args))
        op = self.op(kind, type, operands)
        op.verify_()
        self.block.add_op(op)
        return op.results[0]

    def op(self, kind: int, type: TensorType, operands: list[int]) -> ConstantOp | ComputeOp | ReshapeOp:
        if kind == CONSTANT:
            dtype = DTYPES[type.element_type]
            count = math.prod(type.get_shape())
            data = self.constants[operands[0] : operands[0] + count * dtype.itemsize]
            if len(data) != count * dtype.itemsize:
                raise FormatError("a constant leaves the constants' bytes")
            array = np.frombuffer(data, dtype).reshape(type.get_shape())
            return ConstantOp(make_dense(array, self.ctx, "masks", type.element_type))
        if not 0 <= kind - FIRST_OPERATION < len(OPERATIONS):
            raise FormatError(f"{kind} is no kind of value")
        operation = OPERATIONS[kind - FIRST_OPERATION]
        read = operands[: arity(operation)]
        if any(index >= len(self.values) for index in read):
            raise FormatError("a value is read before it is computed")
        inputs = [self.values[index] for index in read]
        if operation is not Operation.RESHAPE:
            return ComputeOp(operation, inputs, type)
        op = ReshapeOp(inputs[0], _dims(operands[1]), _dims(operands[2]))
        if op.output.type != type:
            raise FormatError("a reshape has another shape than it says")
        return op

    def graph(self) -> ReadBlob:
        num_inputs = len(self.block.args)
        if sorted(self.results) != list(range(num_inputs, num_inputs + len(self.results))):
            raise FormatError("results are numbered in order, behind the arguments")
        outputs = [self.results[index] for index in sorted(self.results)]
        self.block.add_op(end := YieldOp(outputs))
        end.verify_()
        input_types = list(self.block.arg_types)
        graph = MasksGraphOp.create(result_types=[value.type for value in outputs], regions=[Region(self.block)])
        return ReadBlob(graph, input_types)
