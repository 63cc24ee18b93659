"""What text may hold, the verifier has to survive: random operands and properties end in a VerifyException or pass."""

import random
from typing import Any

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f16, f32, i1, i64
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.edge.attributes import DYNAMIC
from xir.dialects.edge.schema import Argument
from xir.dialects.edge.types import ui8

ROUNDS = 40
INTS = (-3, -1, 0, 1, 2, 3, 5, 2**62, DYNAMIC)
FLOATS = (0.0, 0.5, -2.0, 1e300, float("inf"), float("nan"))
ELEMENTS = (f32, f16, i64, i1, ui8)


def operand(block: Block, chance: random.Random) -> Any:
    shape = [chance.choice((0, 1, 2, 3, 4, DYNAMIC_INDEX)) for _ in range(chance.randrange(6))]
    return block.insert_arg(TensorType(chance.choice(ELEMENTS), shape), len(block.args))


def scalar(base: str, chance: random.Random) -> Any:
    match base:
        case "int" | "SymInt":
            return chance.choice(INTS)
        case "float":
            return chance.choice(FLOATS)
        case "bool":
            return chance.random() < 0.5
        case "Scalar":
            return chance.choice((*FLOATS, 2, -1, True))
        case "ScalarType":
            return chance.choice(ELEMENTS)
        case _:
            return "anything"


def value(argument: Argument, block: Block, chance: random.Random) -> Any:
    type = argument.type
    if type.optional and chance.random() < 0.3:
        return None
    length = type.length if type.length and chance.random() < 0.8 else chance.randrange(5)
    if type.is_tensor:
        return [operand(block, chance) for _ in range(length)] if type.is_list else operand(block, chance)
    return [scalar(type.base, chance) for _ in range(length)] if type.is_list else scalar(type.base, chance)


@pytest.mark.parametrize("name", sorted(edge.OPS))
def test_verifier_survives_anything(name: str) -> None:
    op_class = edge.OPS[name]
    schema = op_class.row.schema
    for seed in range(ROUNDS):
        chance = random.Random(f"{name} {seed}")
        block = Block()
        args = {a.name: value(a, block, chance) for a in schema.arguments}
        args = {n: v for n, v in args.items() if v is not None or n in schema.tensors}
        count = chance.choice((len(schema.returns), len(schema.returns), 0, 3))
        results = [chance.choice((TensorType(f32, [2, 3]), i64)) for _ in range(count)]
        try:
            op = op_class.build_from(args, results)
        except ValueError:
            continue  # a required argument is missing
        try:
            op.verify_()
        except VerifyException:
            continue


def test_a_number_is_no_tensor() -> None:
    with pytest.raises(ValueError, match=r"aten::relu: argument 'self' is 1\.0, expected a tensor"):
        edge.op("relu").build_from({"self": 1.0})
