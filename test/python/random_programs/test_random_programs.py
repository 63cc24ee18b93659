"""Random programs in all types have eager's numbers in all forms; what finds another number makes it small.

`make random-programs COUNT=1000 SEED=1` runs as many others as one likes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from reference.cases import Checked, Failed
from torch.export import ExportedProgram

from random_programs import campaign, compiled, quantized
from random_programs.builder import FLOATS, INTEGERS, Builder
from random_programs.campaign import COUNTED, OTHERS, TOGETHER, Way
from random_programs.compiled import again, alone, findings
from random_programs.drawing import drawn, shape
from random_programs.exact import eager, references
from random_programs.families import FAMILIES
from random_programs.program import Input, Kind, Line, Program, merged
from random_programs.reduce import reduced, reproducer, signature

SEEDS = 7_100


def program_of(*lines: tuple[str, Kind], dtype: torch.dtype = torch.float32) -> Program:
    """Lines over `x0`, a tensor of [4, 4]; the last one is the output."""
    made = [Line(f"v{number}", text, kind) for number, (text, kind) in enumerate(lines)]
    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    given = {"x0": Input(dtype, (4, 4), -9, 9, 1.0)}
    return Program(given, {}, made, [made[-1].name], values={"x0": x})


def program_result(program: Program, x: torch.Tensor) -> torch.Tensor:
    """Eager's output."""
    return program.module()(x)[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("form", "other", "drawing"),
    [
        ("default", "zen4", {}),
        ("default", "xir", {"open_sizes": True}),
        ("static default", "static x86", {"quantized": True}),
        ("dynamic default", "dynamic zen3", {"quantized": True}),
    ],
)
def test_few_programs(form: str, other: str, drawing: dict[str, bool]) -> None:
    count = 8 if "quantized" in drawing else TOGETHER
    programs = [each for seed in range(SEEDS, SEEDS + count) if (each := drawn(seed, **drawing)).outputs]
    found = [each for each in findings(programs, [form, other], 0, stock=True) if each.kind not in COUNTED]
    assert not found, "\n\n".join(reproducer(each) for each in found)


@pytest.mark.parametrize("text", ["torch.sqrt(x0)", "F.conv1d(x0, torch.ones(1, 4, 1))"])
def test_what_makes_nan_of_infinities_is_not_held_to_eager(text: str) -> None:
    program = program_of((text, Kind.COMPUTES), ("1 % v0", Kind.COMPUTES))
    for number, is_held in ((4.0, True), (torch.inf, False)):
        x = torch.full((4, 4), number)
        found = references(program, {"x0": x}, 0)["v1"]
        assert bool(found.wrong(torch.full_like(program_result(program, x), torch.nan), "eager is finite")) == is_held


def test_a_seed_draws_one_program() -> None:
    assert drawn(5).text == drawn(5).text
    assert all(torch.equal(a, b) for a, b in zip(drawn(5).values.values(), drawn(5).values.values(), strict=True))
    assert drawn(5).text != drawn(6).text


def things(way: Way) -> Iterator[str]:
    """What the program of a seed has."""
    program = way.program()
    yield from (f"form: {form}" for form in way.forms)
    yield from ("open" for given in program.inputs.values() if given.open)
    types = {name: value.dtype for name, value in eager(program, program.values).items()}
    read = [name for line in program.lines for name in dict.fromkeys(line.reads)]
    for line in program.lines:
        yield str(line.kind)
        if line.kind is Kind.CONSTANT:
            yield f"constant of {types[line.name]}"
        if re.search(r"\.(to|type)\(", line.text) and line.reads:
            yield f"to {types[line.name]}"
        if len(set(line.reads)) < len(line.reads):
            yield "repeated"
    yield from ("several readers" for count in Counter(read).values() if count > 1)
    yield from (f"output of {types[name]}" for name in program.outputs)


def test_programs_have_what_people_write() -> None:
    """Some of 480 have each thing, and each family adds lines."""
    found = {thing for seed in range(480) for thing in things(Way(seed))}
    types = (*FLOATS, *INTEGERS, torch.bool)
    wanted = {f"{what} {dtype}" for what in ("constant of", "to", "output of") for dtype in types}
    wanted |= {"repeated", "several readers", "open", *map(str, Kind)}
    wanted |= {f"form: {mode}default" for mode in ("", "static ", "dynamic ")} | {f"form: {each}" for each in OTHERS}
    assert wanted - found == set()
    for family in FAMILIES:
        builders = [Builder(seed) for seed in range(40)]
        for b in builders:
            b.input(torch.float32, shape(b))
            family(b)
        assert sum(bool(b.lines) for b in builders) > 10, family


@pytest.mark.parametrize(
    ("program", "wrong"),
    [
        # The conversion that the program asks for is left out.
        (program_of(("x0.to(torch.bfloat16)", Kind.ROUNDS), ("v0.to(torch.float32)", Kind.ROUNDS)), lambda x: x),
        # The scalar is rounded to the type first.
        (program_of(("x0 * 70000", Kind.COMPUTES), dtype=torch.float16), lambda x: x * torch.inf),
        # Bits are taken for a number.
        (program_of(("x0 * 1", Kind.COMPUTES), dtype=torch.bfloat16), lambda x: x * 9.2e-41),
        (program_of(("x0 @ x0.T", Kind.COMPUTES)), lambda x: x.T @ x),
        # Near 0 the sum 1 + x has lost x.
        (program_of(("torch.log1p(x0 * 1e-4)", Kind.COMPUTES)), lambda x: (1 + x * 1e-4).log()),
        (program_of(("x0 // 0.1", Kind.JUMPS)), lambda x: (x / 0.1).floor() + 1),
        (program_of(("x0 > 0", Kind.JUMPS)), lambda x: x < 0),
    ],
)
def test_other_numbers_are_told(program: Program, wrong: object) -> None:
    assert callable(wrong)
    (name,) = program.outputs
    bounds = references(program, program.values, 0)[name].all()
    x = program.values["x0"]
    assert bounds.wrong(bounds.eager) == ""
    assert bounds.wrong(wrong(x)) != ""


def test_other_orders_of_summation_are_right() -> None:
    program = program_of(("x0 @ x0", Kind.COMPUTES), ("v0.sum()", Kind.COMPUTES))
    x = program.values["x0"]
    bounds = references(program, program.values, 0)["v1"].all()
    assert bounds.wrong((x.double() @ x.double()).sum().float()) == ""
    assert bounds.wrong(torch.stack([*(x @ x).flatten()]).flip(0).cumsum(0)[-1]) == ""


def test_what_a_line_rounds_inside_counts() -> None:
    """Around 1/2 a logit is four times as far off as the sigmoid in it, however small it is."""
    program = program_of(("torch.logit(x0.sigmoid())", Kind.COMPUTES))
    x = program.values["x0"] * 1e-3
    bounds = references(program, {"x0": x}, 0)["v0"].all()
    for end in (0.0, 1.0):
        inside = torch.nextafter(x.sigmoid(), torch.tensor(end))
        assert bounds.wrong(torch.logit(inside.double()).float()) == ""
    assert bounds.wrong(torch.logit(x.double().sigmoid() + 1e-5).float()) != ""


def test_products_below_the_smallest_normal_number_may_be_lost() -> None:
    """As in XNNPACK's exponential, `s + (t * s) * p`."""
    program = program_of(("F.softmax(x0, -1)", Kind.COMPUTES))
    x = torch.tensor([[0.0, -85.73]])
    bounds = references(program, {"x0": x}, 0)["v0"].all()
    smallest = torch.finfo(torch.float32).smallest_normal
    assert bounds.exact[0, 1] > 4.5 * smallest
    assert bounds.wrong(torch.tensor([[1.0, 4 * smallest]])) == ""
    assert bounds.wrong(torch.tensor([[1.0, 2 * smallest]])) != ""
    below = torch.tensor([smallest / 2, 3.0])
    assert quantized.bounds(below, below.double()).wrong(torch.tensor([0.0, 3.0])) == ""


@pytest.mark.filterwarnings("ignore")
def test_a_miscompile_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a compiler that takes tanh for sin."""
    export = compiled.exported

    def miscompiled(programs: Sequence[Program]) -> ExportedProgram:
        def other(line: Line) -> Line:
            return replace(line, text=line.text.replace("tanh", "sin"))

        return export([replace(each, lines=[other(line) for line in each.lines]) for each in programs])

    monkeypatch.setattr(compiled, "exported", miscompiled)
    right = program_of(("x0 + 1", Kind.COMPUTES))
    program = program_of(
        ("x0 * 2", Kind.COMPUTES), ("v0.T", Kind.MOVES), ("v1.tanh()", Kind.COMPUTES), ("v2 + v0", Kind.COMPUTES)
    )
    found = findings([right, program], ["default"], 0)
    assert {each.program.lines[0].text for each in found} == {"x0 * 2"}
    repeated = alone(found[0])
    assert repeated is not None
    small = reduced(repeated)
    assert [line.text for line in small.program.lines] == ["v1.tanh()"]
    assert signature(small) == "wrong: v.tanh() [float32]"
    scaled = [replace(small, program=program_of((f"x0 * {number}", Kind.COMPUTES))) for number in (3.5, -0.25)]
    assert {signature(replace(each, inputs=each.program.values)) for each in scaled} == {"wrong: v * # [float32]"}
    text = reproducer(small)
    assert "v2 = v1.tanh()" in text
    compile(text, "reproducer", "exec")


def test_programs_are_merged_under_new_names() -> None:
    first = program_of(("x0 + 1", Kind.COMPUTES))
    both = merged([first, program_of(("x0 * 2", Kind.COMPUTES), ("v0 - x0", Kind.COMPUTES))])
    assert [line.text for line in both.lines] == ["x0 + 1", "x1 * 2", "v1 - x1"]
    assert both.outputs == ["v0", "v2"]


@pytest.mark.filterwarnings("ignore")
def test_an_error_is_the_finding_of_its_program_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = compiled.lowered

    def refusing(edge: object, form: str) -> object:
        if "edge.sin" in str(edge):
            raise RuntimeError("no sine today")
        return lowered(edge, form)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(compiled, "lowered", refusing)
    sine, cosine = program_of(("x0.sin()", Kind.COMPUTES)), program_of(("x0.cos()", Kind.COMPUTES))
    (found,) = findings([cosine, sine, cosine], ["default"], 0)
    assert (found.kind, found.program.lines[0].text) == ("internal error", "x0.sin()")
    assert again(cosine, found, 0) is None


def test_a_campaign_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[range]()

    def results(check: object, groups: Iterator[range], *_: object, **__: object) -> Iterator[Checked]:
        wanted = list(groups)
        asked.extend(wanted)
        return (Checked(each, [Failed(each.start, "wrong", "text")]) for each in wanted)

    monkeypatch.setattr(campaign, "results", results)
    path = tmp_path / "results.jsonl"
    first = list(campaign.run(path, 5, 30, 1))
    assert asked == [range(5, 12), range(12, 24), range(24, 35)]
    assert list(campaign.run(path, 5, 30, 1)) == first
    assert len(asked) == 3
    path.write_text(path.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    assert len(list(campaign.run(path, 5, 30, 1))) == 3
    assert asked[3:] == [range(24, 35)]
