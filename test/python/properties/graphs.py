"""Random graphs, drawn step by step from families, in the forms that programs have: numbers, precisions, open sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import torch
from hypothesis import strategies as st
from properties.families import FAMILIES
from properties.programs import Builder, Program
from properties.wider_families import WIDER_FAMILIES

import xir
from xir import QuantConfig
from xir.ir.diagnostics import DiagnosticError
from xir.quantizer.search import NothingToQuantizeError

ALL_FAMILIES: dict[str, Callable[[Builder], None]] = {**FAMILIES, **WIDER_FAMILIES}

SHAPES = st.integers(1, 4).flatmap(lambda rank: st.lists(st.integers(1, 6), min_size=rank, max_size=rank))
TOKENS = st.lists(st.integers(1, 6), min_size=1, max_size=2)
MOST_ELEMENTS = 20_000
"""Families are not drawn any more where a value got larger: it is the forms that matter, not the sizes."""

FORMS = ("fp32", "fp16", "static", "dynamic", "int4", "open")
"""Numbers of fp32 or fp16, the quantised forms, and open sizes of first dimensions where the program lets them be."""

CHECKED = tuple(sorted(ALL_FAMILIES.keys() - {"jumping"}))
"""What each pass is checked on: all families but the one whose results jump."""


@st.composite
def programs(draw: st.DrawFn, families: Sequence[str], fewest: int, most: int) -> Program:
    """A program of `fewest` to `most` draws from `families`, behind something for XNNPACK to compute on each input.

    Where families that read tokens are among them, an input may be tokens.
    """
    b = Builder(draw)
    for shape in draw(st.lists(SHAPES, min_size=1, max_size=3)):
        b.input(*shape)
    if not WIDER_FAMILIES.keys().isdisjoint(families) and b.flag():
        b.given(b.tokens(*draw(TOKENS)))
    for number in b.float_inputs():
        b.step("0.5 * ", lambda x: x * 0.5, number)
    for _ in range(draw(st.integers(fewest, most))):
        if max(value.numel() for value in b.values) > MOST_ELEMENTS:
            break
        ALL_FAMILIES[draw(st.sampled_from(families))](b)
    return b.finish()


def programs_in(form: str, fewest: int, most: int) -> st.SearchStrategy[Program]:
    """Programs of all that passes are checked on, to be exported in a form."""
    # Few layers are wide enough by chance for groups of weights in 4 bits.
    families = [*CHECKED, *["wide_linear"] * len(CHECKED)] if form == "int4" else CHECKED
    return programs(families, fewest, most)


def exported(program: Program, form: str) -> torch.export.ExportedProgram | None:
    """A program in one form; None if it does not have it."""
    match form:
        case "static" | "dynamic" | "int4":
            # A group is a whole channel where some layer has no groups of 32 inputs.
            for size in (32, None):
                with suppress(NothingToQuantizeError, DiagnosticError):
                    return xir.quantize(program, program.inputs, config=QuantConfig(form, group_size=size))
            return None
        case "fp16":
            return torch.export.export(program.half(), inputs_of(program, form))
        case "open":
            largest = torch.export.Dim.AUTO(max=12)
            sizes = [{0: largest} if each.shape[0] > 1 else None for each in program.inputs]
            return torch.export.export(program, program.inputs, dynamic_shapes=(tuple(sizes),))
        case _:
            return torch.export.export(program, program.inputs)


def inputs_of(program: Program, form: str) -> tuple[torch.Tensor, ...]:
    """What a program is called with in one form."""
    if form != "fp16":
        return program.inputs
    return tuple(each.half() if each.is_floating_point() else each for each in program.inputs)
