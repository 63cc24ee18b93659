"""Making a finding small: fewer outputs, lines and inputs, as long as it stays one of its kind."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from random_programs.compiled import MOST_OPEN, STOCK, Finding, alone
from random_programs.exact import eager
from random_programs.program import NAME, Input, Program

SHOWN = 40
"""Tensors of more elements are shown as drawn ones in a reproducer."""


def reduced(finding: Finding, seconds: float = 20.0) -> Finding:
    """The smallest finding that cutting one thing at a time leads to, within this time."""
    current, end = finding, time.monotonic() + seconds
    if finding.output is not None:
        one = replace(finding, program=replace(finding.program, outputs=[finding.output]).without_dead())
        current = alone(one) or finding
    progress = True
    while progress:
        progress = False
        for smaller in candidates(current):
            if time.monotonic() > end:
                return current
            if not smaller.program.outputs:
                continue
            found = alone(smaller)
            if found is not None:
                current, progress = found, True
                break
    return current


def candidates(finding: Finding) -> Iterator[Finding]:
    """The finding's program with something cut off."""
    program = finding.program
    if len(program.outputs) > 1:
        others = [name for name in program.outputs if name != finding.output]
        size = len(others)
        while size:
            for start in range(0, len(others), size):
                cut = others[start : start + size]
                fewer = [name for name in program.outputs if name not in cut]
                if fewer:
                    yield replace(finding, program=replace(program, outputs=fewer).without_dead())
            size //= 2
    with torch.no_grad():
        try:
            values = eager(program, finding.inputs)
        except Exception:
            return
    for line in reversed(program.lines):
        if len(program.lines) > 1 and not values[line.name].is_complex():
            yield with_input(finding, line.name, values[line.name])
    for line in program.lines:
        if line.name in program.outputs:
            for name in dict.fromkeys(line.reads):
                if name in {each.name for each in program.lines}:
                    yield replace(finding, program=replace(program, outputs=[name]).without_dead())
    for line in program.lines:
        same = [
            name for name in dict.fromkeys(line.reads)
            if values[name].shape == values[line.name].shape and values[name].dtype == values[line.name].dtype
        ]  # fmt: skip
        for name in same:
            yield replace(finding, program=without(program, line.name, name))


def with_input(finding: Finding, name: str, value: Tensor) -> Finding:
    """A value becomes an input."""
    program = finding.program
    scale = float(value.double().abs().max()) if value.is_floating_point() else 1.0
    ends = (0, 1) if value.is_floating_point() else (int(value.min()), int(value.max()))
    given = Input(value.dtype, tuple(value.shape), *ends, scale)
    lines = [line for line in program.lines if line.name != name]
    outputs = [each for each in program.outputs if each != name]
    made = replace(program, inputs={**program.inputs, name: given}, lines=lines, outputs=outputs).without_dead()
    values = {**finding.inputs, name: value}
    return replace(finding, program=made, inputs={each: values[each] for each in made.inputs})


def without(program: Program, name: str, instead: str) -> Program:
    """Read another value instead of one."""

    def renamed(text: str) -> str:
        return NAME.sub(lambda match: instead if match[0] == name else match[0], text)

    lines = [replace(line, text=renamed(line.text)) for line in program.lines if line.name != name]
    outputs = [instead if each == name else each for each in program.outputs]
    known = {line.name for line in lines}
    return replace(
        program, lines=lines, outputs=[each for each in dict.fromkeys(outputs) if each in known]
    ).without_dead()


def signature(finding: Finding) -> str:
    """What findings of one class have in common: the lines without names and numbers, and the types."""
    program = finding.program
    with torch.no_grad():
        values = eager(program, finding.inputs)
    lines = []
    for line in program.lines:
        text = re.sub(r"\b[vxw]\d+\b", "v", line.text)
        text = re.sub(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?", "#", text)
        types = ",".join(dict.fromkeys(str(values[name].dtype)[6:] for name in (*line.reads, line.name)))
        lines.append(f"{text} [{types}]")
    detail = "" if finding.kind == "wrong" else re.sub(r"\d+", "#", finding.detail)
    mode = finding.form.rpartition(" ")[0]
    return f"{finding.kind}: {mode and mode + ': '}" + "; ".join(lines) + (f": {detail}" if detail else "")


REMADE = (
    'open("program.pte", "wb").write(file)',
    'file = xir.load("program.pte").optimized(xir.XnnpackPartitioner()).buffer',
)
"""Lines that make a file of another one."""


def reproducer(finding: Finding) -> str:
    """A Python program that shows the finding."""
    program = finding.program
    mode, _, form = finding.form.removesuffix(STOCK).rpartition(" ")
    options = {"default": "", "xir": 'target="xir"'}.get(form, f'cpu="{form}"')
    backend = "" if form in ("portable", "remade") else f".to_backend(xir.XnnpackPartitioner({options}))"
    opened = [f"{{{', '.join(f'{dim}: OPEN' for dim in each.open)}}}" for each in program.inputs.values()]
    has_open = mode == "" and any(each.open for each in program.inputs.values())
    export = "torch.export.export(model, examples)"
    if mode:
        export = f'xir.quantize(model, examples, config=xir.QuantConfig("{mode}"))'
    elif has_open:
        export = f"torch.export.export(model, examples, dynamic_shapes=({', '.join(opened)},))"
    lines = [
        f"# seed {program.seed}, {finding.form}: {finding.kind}: {finding.detail}",
        "import torch, xir",
        "from torch import inf, nan, nn",
        "from xir.runtime import Runtime",
        "from torch.nn import functional as F",
        "",
        program.text,
        "",
        "model = Program()",
        *(f'model.register_buffer("{name}", {literal(value)})' for name, value in program.weights.items()),
        *([f"OPEN = torch.export.Dim.AUTO(max={MOST_OPEN})"] if has_open else []),
        f"examples = {literals(program, program.values)}",
        f"inputs = {literals(program, finding.inputs)}",
        f"program = {export}",
        f"file = xir.to_edge(program){backend}.to_executorch().buffer",
        *(REMADE if form == "remade" else ()),
        "print(program.module()(*inputs), Runtime.get().load_program(file).load_method().execute(list(inputs)))",
    ]
    return "\n".join(lines)


def literals(program: Program, values: Mapping[str, Tensor]) -> str:
    """A program's inputs as Python."""
    return f"({' '.join(literal(values[name]) + ',' for name in program.inputs)})"


def literal(value: Tensor) -> str:
    """A tensor as Python."""
    if value.numel() > SHOWN and value.is_floating_point():
        return f"(torch.randn({list(value.shape)}) * {float(value.double().std()):.3g}).to({value.dtype})"
    numbers = value.double().tolist() if value.is_floating_point() else value.tolist()
    return f"torch.tensor({numbers!r}, dtype={value.dtype})"
