"""What the programs of many seeds have in them: how many programs have each thing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import torch

from random_programs.campaign import CHUNK, TOGETHER, Part, forms_of
from random_programs.drawing import drawn
from random_programs.exact import eager
from random_programs.program import Kind, Program

PARTS = {
    "permutes": r"permute|transpose|movedim|\.m?T\b",
    "slices": r"\[[^\]]*:|select|narrow|chunk",
    "conversions": r"\.(to|type|float)\(",
    "divisions": r"//|%|fmod|remainder|rounding_mode",
    "comparisons": r"[<>]|==|!=|where|masked_fill",
    "products": r"@|matmul|linear|bmm|einsum|dot\(|matrix_power",
    "convolutions": r"conv",
    "pools": r"pool",
    "resampled": r"interpolate",
    "reductions": r"\.(sum|mean|amax|amin|var|std|norm|prod|max|any|all|argmax)\(|logsumexp|cumsum",
    "normalisations": r"softm|norm\(",
    "attention": r"attention",
    "joined": r"cat\(|stack\(",
    "complex numbers": r"complex|polar|1j",
}
"""What a line may have, by its text."""

NUMBERS = {
    "an int": r"(?<![\w.*])-?\d+(?![\w.])",
    "a float": r"(?<![\w])-?\d+\.\d+(?![\w])",
    "a bool": r"\b(True|False)\b",
    "minus zero": r"-0\.0",
    "an infinity": r"\binf\b",
    "beyond fp16": r"70000|1e5|1e9|1e39|3e38|1e300|2\*\*31|10\*\*12",
    "beyond fp32": r"1e39|1e300",
    "below fp16's steps": r"1e-9|1e-6",
}
"""Python numbers."""


def things(program: Program) -> Iterator[str]:
    """What a program has, each as often as it does."""
    for given in program.inputs.values():
        yield f"input of {str(given.dtype)[6:]}"
        if given.open:
            yield "an open dimension"
    made = {line.name: line for line in program.lines}
    with torch.no_grad():
        values = {name: value.dtype for name, value in eager(program, program.values).items()}
    read = [name for line in program.lines for name in dict.fromkeys(line.reads)]
    for line in program.lines:
        yield f"line: {line.kind.name.lower()}"
        yield from (f"line: {name}" for name, text in PARTS.items() if re.search(text, line.text))
        yield from (f"number: {name}" for name, text in NUMBERS.items() if re.search(text, line.text))
        if line.kind is Kind.CONSTANT:
            yield f"constant of {str(values[line.name])[6:]}"
        if re.search(r"\.(to|type)\(", line.text) and line.reads:
            yield f"to {str(values[line.name])[6:]}"
        if len(set(line.reads)) < len(line.reads):
            yield "a repeated operand"
        if len({values[name] for name in line.reads}) > 1:
            yield "operands of several types"
    yield from ("a value with several readers" for name, count in Counter(read).items() if count > 1 and name in made)
    yield from ("an output that is read" for name in program.outputs if name in read)
    yield from (f"output of {str(values[name])[6:]}" for name in program.outputs)


def histogram(seed: int, count: int) -> Counter[str]:
    """How many of the programs of some seeds have each thing, drawn as a campaign draws them."""
    found = Counter[str]()
    for first in range(seed, seed + count, CHUNK):
        part = Part(first, range(first, min(first + CHUNK, seed + count)))
        for start in range(first, part.seeds.stop, TOGETHER):
            seeds = [each for each in range(start, start + TOGETHER) if each in part.seeds]
            for program in (drawn(each, **part.drawing()) for each in seeds):
                found["programs"] += 1
                found.update(set(things(program)) | {f"form: {form}" for form in forms_of(part.mode(), start)})
                found[f"{len(program.lines):2} lines"] += 1
    return found
