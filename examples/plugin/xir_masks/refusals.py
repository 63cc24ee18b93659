"""Why ops are not masks', as data: the reason, the hint, and a call that is refused for it."""

from __future__ import annotations

from xdsl.dialects.builtin import f16, i1, i32, i64

from xir.plugin import Refusal, call, tensor

NO_RULE = Refusal("it is no operation on masks", example=call("edge.cumsum", self=tensor(2, 3, element=i64), dim=0))
OTHER_RESULT = Refusal("it gives {given}, and masks would give {built}")
OTHER_OPERAND = Refusal(
    "it reads {type}, and masks are of i1, i32 and i64",
    example=call("edge.logical_not", self=tensor(4, element=f16)),
)
NO_NUMBER = Refusal(
    "{number} is no number of type {element}",
    example=call("edge.add.Scalar", self=tensor(4, element=i32), other=2**40),
)
FLOATS = Refusal(
    "it computes with floats",
    "masks are of integers and bools",
    example=call("edge.add.Tensor", self=tensor(4), other=tensor(4)),
)
NO_INTEGER = Refusal(
    "it compares with a number that is no integer",
    example=call("edge.lt.Scalar", self=tensor(4, element=i64), other=0.5),
)
BOOLS_AS_NUMBERS = Refusal(
    "it computes with bools as numbers",
    example=call("edge.sub.Tensor", self=tensor(4, element=i1), other=tensor(4, element=i1)),
)
OTHER_ELEMENT = Refusal("it gives {element}", example=call("edge._to_copy", self=tensor(4, element=i64), dtype=f16))
CONVERTS = Refusal(
    "it converts to {element}",
    example=call("edge.add.Tensor", self=tensor(4, element=i64), other=tensor(4, element=f16)),
)
REPEATS_DYNAMIC = Refusal(
    "it repeats a dimension as often as only the run time knows",
    example="""
func.func @forward(%x: tensor<1xi64>, %y: tensor<?xi64>) -> tensor<?xi64> {
  %n = edge.sym_size.int(%y) {dim = 0 : i64} : (tensor<?xi64>) -> i64
  %0 = edge.expand(%x)[%n] {size = array<i64: -9223372036854775808>} : (tensor<1xi64>, i64) -> tensor<?xi64>
  func.return %0 : tensor<?xi64>
}
""",
)
DROPS_DYNAMIC = Refusal(
    "it may drop a dynamic dimension",
    example="""
func.func @forward(%x: tensor<?xi64>) -> tensor<?xi64> {
  %0 = edge.squeeze.dims(%x) {dim = array<i64: 0>} : (tensor<?xi64>) -> tensor<?xi64>
  func.return %0 : tensor<?xi64>
}
""",
)
MORE_THAN_ONES = Refusal(
    "it changes more than dimensions of size 1",
    example=call("edge.view", self=tensor(4, 3, element=i64), size=(12,)),
)
NOT_VALID = Refusal("{problem}")
"""What the dialect's verifier says of the operation."""
TOO_LARGE = Refusal("its result can have {elements} elements, more than the library takes")
"""Found late, because dynamic sizes are known at their largest only then."""
