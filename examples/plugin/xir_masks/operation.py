"""The operations, in the order in which the format numbers them (`native/masks/program.h`)."""

from enum import StrEnum


class Operation(StrEnum):
    """One elementwise operation. Operands broadcast; integers wrap around."""

    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    EQUAL = "equal"
    NOT_EQUAL = "not_equal"
    LESS = "less"
    LESS_EQUAL = "less_equal"
    GREATER = "greater"
    GREATER_EQUAL = "greater_equal"
    AND = "and"
    OR = "or"
    XOR = "xor"
    NEGATE = "negate"
    NOT = "not"
    SELECT = "select"
    CAST = "cast"
    BROADCAST = "broadcast"
    RESHAPE = "reshape"


CODES = {operation: code for code, operation in enumerate(Operation)}
"""The number of each operation in a file."""

COMPARISONS = {
    Operation.EQUAL,
    Operation.NOT_EQUAL,
    Operation.LESS,
    Operation.LESS_EQUAL,
    Operation.GREATER,
    Operation.GREATER_EQUAL,
}
ARITHMETIC = {
    Operation.ADD,
    Operation.SUBTRACT,
    Operation.MULTIPLY,
    Operation.MINIMUM,
    Operation.MAXIMUM,
    Operation.NEGATE,
}
ONE_OPERAND = {Operation.NEGATE, Operation.NOT, Operation.CAST, Operation.BROADCAST, Operation.RESHAPE}


def arity(operation: Operation) -> int:
    """How many operands it has."""
    return 3 if operation is Operation.SELECT else 1 if operation in ONE_OPERAND else 2
