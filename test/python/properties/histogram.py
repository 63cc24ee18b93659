"""`python -m properties.histogram`: which ops random graphs have, and in how many of them; nothing is compiled.

With `--against mv2,llama2` it ends with the ops of these models that no graph has.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from hypothesis import Phase, given, seed, settings
from properties.examples import DETERMINISTIC
from properties.graphs import FORMS, exported, programs_in
from properties.programs import Program

import xir
from xir.dialects import edge


def graphs(form: str, count: int, number: int) -> list[Program]:
    """Random programs of one form, as `make verify-random` draws them."""
    found: list[Program] = []
    options: dict[str, Any] = DETERMINISTIC | {"derandomize": False, "phases": [Phase.generate]}

    @seed(number)
    @settings(max_examples=count, **options)
    @given(programs_in(form, 4, 16))
    def draw(program: Program) -> None:
        found.append(program)

    draw()
    return found


def ops_of(program: torch.export.ExportedProgram) -> Iterator[str]:
    """The names of a program's ops."""
    for op in xir.to_edge(program).module.walk():
        if isinstance(op, edge.EdgeOp | edge.MutableBufferOp | edge.UpdateBufferOp):
            yield op.name


def models(names: str) -> set[str]:
    """The ops of models of the zoo."""
    from xir.models import load_model

    loaded = (load_model(name) for name in filter(None, names.split(",")))
    return {op for model, inputs in loaded for op in ops_of(torch.export.export(model, inputs))}


def main() -> int:
    """Draw, import, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="graphs (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", default="", help="models of the zoo, separated by commas")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    drawn = [
        set(ops_of(found))
        for form in FORMS
        for program in graphs(form, -(-options.count // len(FORMS)), options.seed)
        if (found := exported(program, form)) is not None
    ]
    counts = Counter(op for ops in drawn for op in ops)
    for name, count in counts.most_common():
        print(f"{count:5}  {name}")
    print(f"{len(counts)} ops in {len(drawn)} graphs")
    if missing := sorted(models(options.against) - counts.keys()):
        print("in none of them: " + ", ".join(missing))
    return 0


if __name__ == "__main__":
    sys.exit(main())
