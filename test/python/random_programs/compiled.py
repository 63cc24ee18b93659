"""Programs through the compiler and the runtimes, and what is wrong with what comes out."""

from __future__ import annotations

import contextlib
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, cast

import torch
from reference.modules import quiet
from reference.runtimes import load_stock
from torch import Tensor
from torch.export import ExportedProgram
from xdsl.dialects.builtin import UNKNOWN_LOC

import xir
from random_programs import quantized
from random_programs.exact import Reference, eager, references
from random_programs.program import Input, Program, drawn_input, merged, several
from xir import runtime
from xir.ir.diagnostics import DiagnosticError
from xir.quantizer.search import NothingToQuantizeError

FORMS: dict[str, dict[str, Any] | None] = {
    "default": {},
    "zen3": {"cpu": "zen3"},
    "zen4": {"cpu": "zen4"},
    "x86": {"cpu": "x86"},
    "xir": {"target": "xir"},
    "portable": None,
    "remade": None,
}
"""The options of the partitioner; None for no delegate at all. In front of one may stand how programs are quantised.
What is remade is a file without delegates that is read, raised, and delegated."""

STOCK = ", stock"
"""Behind a form: its file in ExecuTorch's own runtime, whose kernels have roundings and faults of their own."""

MOST_OPEN = 9
"""The largest size of an open dimension."""


@dataclass(frozen=True)
class Finding:
    """What is wrong with a program."""

    kind: str
    program: Program
    form: str
    inputs: Mapping[str, Tensor]
    detail: str
    output: str | None = None
    together: Sequence[Program] = ()
    """The programs that were compiled together."""


def exported(programs: Sequence[Program]) -> ExportedProgram:
    """Programs as one exported program."""
    program, inputs = several(programs)
    spec = [
        {dim: torch.export.Dim.AUTO(max=MOST_OPEN) for dim in given.open} or None
        for each in programs
        for given in each.inputs.values()
    ]
    shapes = (tuple(spec),) if any(spec) else None
    return torch.export.export(program, inputs, dynamic_shapes=shapes)


def sizes(program: ExportedProgram, greatest: bool) -> list[dict[int, int]]:
    """For each input the sizes of its open dimensions, the least or the greatest that the program takes."""
    bounds = dict[Any, int]()
    for symbol, limits in program.range_constraints.items():
        high = int(limits.upper) if limits.upper.is_finite else MOST_OPEN
        bounds[symbol] = min(high, MOST_OPEN) if greatest else max(1, int(limits.lower))
    found = list[dict[int, int]]()
    names = set(program.graph_signature.user_inputs)
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in names:
            opened = [each for each in enumerate(node.meta["val"].shape) if isinstance(each[1], torch.SymInt)]
            found.append({dim: int(size.node.expr.subs(bounds)) for dim, size in opened})
    return found


def draws(programs: Sequence[Program], program: ExportedProgram, seed: int) -> Iterator[list[dict[str, Tensor]]]:
    """What to run programs on: the inputs that they were drawn with, others, and others of other sizes."""
    yield [dict(each.values) for each in programs]
    generator = torch.Generator().manual_seed(seed)

    def drawn(draw: Callable[[Input], Tensor]) -> list[dict[str, Tensor]]:
        return [{name: draw(given) for name, given in each.inputs.items()} for each in programs]

    yield drawn(lambda given: drawn_input(given, generator))
    if not any(given.open for each in programs for given in each.inputs.values()):
        yield drawn(lambda given: drawn_input(given, generator, 1e-3 if given.scale >= 1 else 30.0))
        return
    for greatest in (False, True):
        left = iter(sizes(program, greatest))
        yield drawn(lambda given: drawn_input(given, generator, None, next(left)))  # noqa: B023


def lowered(edge: xir.EdgeProgram, form: str) -> xir.ExecutorchProgram:
    """A program in one form."""
    options = FORMS[form.rpartition(" ")[2]]
    delegated = edge if options is None else edge.to_backend(xir.XnnpackPartitioner(**options))
    program = delegated.to_executorch()
    return remade(program) if form.endswith("remade") else program


def remade(program: xir.ExecutorchProgram) -> xir.ExecutorchProgram:
    """A program as it comes of its own file."""
    with tempfile.NamedTemporaryFile(suffix=".pte") as file:
        program.write_to_file(cast("BinaryIO", file))
        file.flush()
        return xir.load(file.name).optimized(xir.XnnpackPartitioner())


def findings(programs: Sequence[Program], forms: Sequence[str], seed: int, *, stock: bool = False) -> list[Finding]:
    """What is wrong with programs that are compiled together; apart, where that ends in an error."""
    if not programs:
        return []
    with quiet():
        return _findings(programs, forms, seed, stock)


def _findings(programs: Sequence[Program], forms: Sequence[str], seed: int, stock: bool) -> list[Finding]:
    stage = "not exported"
    form = ""
    try:
        mode = forms[0].rpartition(" ")[0]
        given = quantized.quantized(programs, mode) if mode else exported(programs)
        stage = "refused"
        edge = xir.to_edge(given)
        found = list[Finding]()
        runs = list(computed(given, programs, seed, is_quantized=mode != ""))
        for form in forms:
            stage = "refused"
            made = lowered(edge, form)
            stage = "runtime error"
            buffer = made.buffer
            method = runtime.Runtime.get().load_program(buffer, threads=1).load_method()
            other = None
            if stock and not made.missing_kernels and form != "xir":
                other = load_stock(buffer)
            for inputs, wanted in runs:
                flat = flattened(programs, inputs)
                results = method.execute(flat)
                found += wrong(programs, form, inputs, wanted, results)
                if other is not None:
                    # Its kernels take fewer types than ours, and say so when they run.
                    with contextlib.suppress(RuntimeError):
                        found += wrong(programs, f"{form}{STOCK}", inputs, wanted, other.forward(flat))
        return found
    except NothingToQuantizeError:
        return []
    except Exception as error:
        if len(programs) > 1:
            middle = len(programs) // 2
            return [
                *_findings(programs[:middle], forms, seed, stock),
                *_findings(programs[middle:], forms, seed, stock),
            ]
        return [Finding(kind_of(error, stage), programs[0], form or forms[0], programs[0].values, said(error))]


def flattened(programs: Sequence[Program], inputs: Sequence[Mapping[str, Tensor]]) -> list[Tensor]:
    """Copies of the inputs of all programs, in order."""
    return [each[name].clone() for each, program in zip(inputs, programs, strict=True) for name in program.inputs]


def computed(
    given: ExportedProgram, programs: Sequence[Program], seed: int, *, is_quantized: bool
) -> Iterator[tuple[list[dict[str, Tensor]], list[dict[str, Reference]]]]:
    """The draws of inputs that PyTorch itself computes, and what it does."""
    for inputs in draws(programs, given, seed):
        try:
            if not is_quantized:
                check_sizes(given, programs, inputs)
            if is_quantized:
                wanted = quantized.references(given, programs, inputs, seed)
            else:
                wanted = [references(program, each, seed) for program, each in zip(programs, inputs, strict=True)]
        except Exception:
            if len(programs) == 1:
                continue
            raise
        yield inputs, wanted


def check_sizes(given: ExportedProgram, programs: Sequence[Program], inputs: Sequence[Mapping[str, Tensor]]) -> None:
    """Raise where the exported program is wrong itself: torch writes open sizes as numbers into some arguments."""
    if not any(each.open for program in programs for each in program.inputs.values()):
        return
    results = iter(given.module()(*flattened(programs, inputs)))
    for program, each in zip(programs, inputs, strict=True):
        values = eager(program, each)
        for name in program.outputs:
            if (result := next(results)).shape != values[name].shape:
                raise RuntimeError(
                    f"torch exports {name} with sizes {list(result.shape)} of {list(values[name].shape)}"
                )


def wrong(
    programs: Sequence[Program],
    form: str,
    inputs: Sequence[Mapping[str, Tensor]],
    wanted: Sequence[Mapping[str, Reference]],
    results: Sequence[Any],
) -> Iterator[Finding]:
    """The results that are none of these programs'."""
    left = iter(results)
    for program, given, references_ in zip(programs, inputs, wanted, strict=True):
        for name in program.outputs:
            if difference := references_[name].wrong(next(left), "eager is finite"):
                kind = "other in stock" if form.endswith(STOCK) else "wrong"
                yield Finding(kind, program, form, given, f"{name} {difference}", name, programs)


def kind_of(error: Exception, stage: str) -> str:
    """What an exception means at a stage."""
    if stage != "refused":
        return stage
    if isinstance(error, DiagnosticError):
        return "refused" if error.diagnostic.location != UNKNOWN_LOC else "unlocated"
    return "internal error"


def said(error: Exception) -> str:
    """An exception's first line, and where it was raised."""
    if isinstance(error, DiagnosticError):
        return error.diagnostic.message
    first = (str(error).splitlines() or [""])[0]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {first} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"


def alone(finding: Finding, seed: int = 0) -> Finding | None:
    """The finding of the same kind of its program alone, or with those that it was compiled with; None without one."""
    program = replace(finding.program, values=dict(finding.inputs))
    found = again(program, finding, seed)
    if found is None and finding.output is not None and len(finding.together) > 1:
        others = [each for each in finding.together if each is not finding.program]
        found = again(merged([program, *others]), finding, seed)
    return found


def again(program: Program, finding: Finding, seed: int) -> Finding | None:
    """A finding of the same kind in a program, in the same form."""
    form = finding.form.removesuffix(STOCK)
    found = findings([program], [form], seed, stock=form != finding.form)
    return next((each for each in found if each.kind == finding.kind and each.form == finding.form), None)
