"""The arenas of the zoo's models beside their lower bounds, without delegates and with them.

A plan cannot take fewer bytes than those that live at one instruction. With --memory-plan exact a solver is asked where
a plan is above that; the bound is then the larger one of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

import xir
from bench.progress import step
from xir.arena_report import arenas_of
from xir.models import MODELS, load_model
from xir.transforms.pte.memory.bounds import Arena

FORMS = ("portable", "delegated")


def arena(name: str, form: str, memory_plan: str) -> Arena:
    """The arena of a model's only method."""
    model, inputs = load_model(name)
    edge = xir.to_edge(torch.export.export(model, inputs))
    if form == "delegated":
        edge = edge.to_backend(xir.XnnpackPartitioner())
    program = edge.to_executorch(memory_plan="exact" if memory_plan == "exact" else "greedy")
    (found,) = arenas_of(program.module, program.remarks).arenas
    return found


def row(name: str, found: Sequence[Arena]) -> str:
    """A line of the table: what is above its bound is bold."""
    cells: list[str] = []
    for each in found:
        gap = f"{100 * each.gap:.1f} %"
        bold = f"**{gap}**" if each.gap else gap
        cells += [f"{each.nbytes:,}", f"{each.lower_bound:,}{' (solver)' if each.is_solved else ''}", bold]
    return f"| {MODELS[name].summary} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, and how many plans are at their bound."""
    parser = argparse.ArgumentParser(prog="python -m bench.arenas", description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help="default: the whole zoo")
    parser.add_argument("--memory-plan", choices=("greedy", "exact"), default="greedy")
    options = parser.parse_args()
    every: list[Arena] = []
    print("| model |" + "".join(f" {form} | bound | gap |" for form in FORMS))
    print("|:--|" + "--:|" * 3 * len(FORMS))
    for name in options.models:
        with step(f"Planning {name}"):
            found = [arena(name, form, options.memory_plan) for form in FORMS]
        every += found
        print(row(name, found), flush=True)
    at_bound = sum(each.gap == 0 for each in every)
    print(f"\n{at_bound} of {len(every)} plans are at their bound.")


if __name__ == "__main__":
    main()
