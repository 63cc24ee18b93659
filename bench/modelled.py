"""How far a modelled cost profile is from the measured one of the same processor, over the zoo; nothing is run.

Profiles of Arm processors are modelled (`xir.cost.modelled`), and there is no such machine to hold them to. So the same
formula predicts x86 processors from their public figures, and this compares it with the profiles that were measured:
the time of each convolution and product, that of each model, and the forms of convolutions that both choose. A choice's
loss is how much longer the convolutions take, by the measured profile, than in the forms that this one chooses.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from xdsl.dialects.builtin import ModuleOp

import xir
from bench.cost import MAX_ERROR, Placed, module_of
from bench.models import named_model
from bench.progress import step
from xir.cost.modelled import load_core, profile_of
from xir.cost.profile import CostProfile, load_profile
from xir.cost_report import cost_report
from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.ir.walking import ops_in
from xir.models import MODELS
from xir.transforms.xnnpack.analysis.node_costs import weight_bytes, work_of
from xir.transforms.xnnpack.composed_convolutions.choosing import fastest, least_gains, worthwhile
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Form
from xir.transforms.xnnpack.schedule.winograd_conv2d import convolution_of, layer_of, predictions

PROCESSORS = ("zen3", "zen4")
"""Those with public figures and a measured profile."""

MULTIPLYING = ("gemm", "gemv", "igemm", "bmm", "dwconv", "dwconv_strided")


@dataclass(frozen=True)
class Both:
    """A processor's measured profile, and the one that is modelled."""

    measured: CostProfile
    modelled: CostProfile

    def of_program(self, weights: int) -> "Both":
        """The same for a program with so many bytes of weights."""
        return Both(self.measured.of_program(weights), self.modelled.of_program(weights))


def pair_of(name: str) -> Both:
    """Both profiles of a processor, with those kernels that were measured: others say nothing."""
    measured, modelled = load_profile(name), profile_of(load_core(name))
    return Both(measured, replace(modelled, kernels={kernel: modelled.kernels[kernel] for kernel in measured.kernels}))


@dataclass(frozen=True)
class Chosen:
    """The microseconds of a convolution by the measured profile, in the form that each profile chooses."""

    by_measured: Form
    by_modelled: Form
    direct: float
    best: float
    taken: float


def node_ratios(module: ModuleOp, both: Both) -> list[float]:
    """What each convolution and product of a program is modelled to take, of what it takes by measurement."""
    works = [work for node in ops_in(module, xnnpack.NodeOp) if (work := work_of(node)) is not None]
    known = [work for work in works if work.kernel in MULTIPLYING]
    return [both.modelled.nanoseconds(work) / both.measured.nanoseconds(work) for work in known]


def chosen_forms(placed: Placed, both: Both) -> Chosen:
    """The forms of a convolution that each of the profiles chooses, by its own threshold."""
    (node,) = ops_in(module_of(placed.layer, XirContext()), xnnpack.Conv2dOp)
    convolution = convolution_of(node)
    assert convolution is not None
    both = both.of_program(placed.weights)
    times = [
        predictions(node, convolution, convolution.forms(MAX_ERROR), [each], also_on_two=False)
        for each in (both.measured, both.modelled)
    ]
    forms = [
        fastest(worthwhile(each, least_gains([profile], is_generic=False)))
        for each, profile in zip(times, (both.measured, both.modelled), strict=True)
    ]
    by_measured = {form: each.mean for form, each in times[0].items()}
    return Chosen(forms[0], forms[1], *(by_measured[form] for form in (DIRECT, *forms)))


@dataclass(frozen=True)
class Compared:
    """A model by both profiles."""

    name: str
    milliseconds: tuple[float, float]
    """Of all its nodes, as they are: by the measured profile, and as modelled."""
    ratios: Sequence[float]
    choices: Mapping[Placed, Chosen]
    counts: Counter[Placed]

    def sum(self, field: str) -> float:
        """The milliseconds of its convolutions that have several forms."""
        return sum(count * getattr(self.choices[layer], field) / 1e3 for layer, count in self.counts.items())

    def row(self) -> str:
        """A line of the table."""
        before, after = self.milliseconds
        others = sum(count for layer, count in self.counts.items() if self.differs(layer))
        loss = f"{self.sum('taken') / self.sum('best') - 1:.1%}" if self.counts else ""
        times = " | ".join(f"{self.sum(field):.1f}" for field in ("direct", "best", "taken")) if self.counts else "| |"
        return f"| {self.name} | {after / before:.2f} | {self.counts.total()} | {others} | {times} | {loss} |"

    def differs(self, layer: Placed) -> bool:
        """Whether the profiles choose another form of a convolution."""
        return self.choices[layer].by_measured != self.choices[layer].by_modelled


def compare(reference: str, both: Mapping[str, Both]) -> dict[str, Compared]:
    """Lower a model, and predict it by both profiles of each processor."""
    name, model, inputs = named_model(reference)
    with step(f"Lowering {name}"):
        edge = xir.to_edge(torch.export.export(model, inputs)).to_backend(
            xir.XnnpackPartitioner(cpu="any", check=False)
        )
    weights = weight_bytes(edge.module)
    counts: Counter[Placed] = Counter()
    for node in ops_in(edge.module, xnnpack.Conv2dOp):
        convolution = convolution_of(node)
        if convolution is not None and convolution.forms(MAX_ERROR):
            counts[Placed(layer_of(node), weights)] += 1
    found: dict[str, Compared] = {}
    for processor, pair in both.items():
        of_program = pair.of_program(weights)
        measured, modelled = (
            cost_report(edge.module, edge.ctx, each).microseconds / 1e3
            for each in (of_program.measured, of_program.modelled)
        )
        choices = {layer: chosen_forms(layer, pair) for layer in counts}
        ratios = node_ratios(edge.module, of_program)
        found[processor] = Compared(name, (measured, modelled), ratios, choices, counts)
    return found


def report(processor: str, models: Sequence[Compared]) -> str:
    """The tables of a processor."""
    ratios = sorted(ratio for model in models for ratio in model.ratios)
    factors = sorted(max(ratio, 1 / ratio) for ratio in ratios)
    total = Compared(
        "all",
        (sum(each.milliseconds[0] for each in models), sum(each.milliseconds[1] for each in models)),
        ratios,
        {layer: choice for model in models for layer, choice in model.choices.items()},
        sum((model.counts for model in models), Counter[Placed]()),
    )
    chosen = [total.choices[layer] for layer in total.counts]
    slower = [each for each in chosen if each.taken > each.direct]
    said = (
        f"{len(ratios)} convolutions and products: modelled {_at(ratios, 0.5):.2f} times the measured profile's time "
        f"(median; a tenth below {_at(ratios, 0.1):.2f}, a tenth above {_at(ratios, 0.9):.2f}); off by a factor of "
        f"{_at(factors, 0.5):.2f} (median) and {_at(factors, 0.9):.2f} (90th percentile)"
    )
    lines = [
        f"## {processor}",
        "",
        said,
        f"{len(slower)} of {len(chosen)} convolutions slower than direct by the measured profile",
        "",
        "| model | modelled / measured | convolutions | other form | direct ms | best ms | as modelled ms | loss |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
        *(model.row() for model in (*models, total)),
    ]
    return "\n".join(lines)


def _at(values: Sequence[float], share: float) -> float:
    return values[min(int(share * len(values)), len(values) - 1)]


def main() -> None:
    """Read the command line, compare and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.modelled", description=__doc__)
    parser.add_argument(
        "models",
        nargs="*",
        default=[],
        help="models of the zoo, or FILE.py:FACTORY (default: the zoo but the small ones)",
    )
    arguments = parser.parse_args()
    references = arguments.models or [name for name, model in MODELS.items() if model.module != "small"]
    both = {name: pair_of(name) for name in PROCESSORS}
    models = [compare(reference, both) for reference in references]
    for name in both:
        print(report(name, [each[name] for each in models]), end="\n\n")


if __name__ == "__main__":
    main()
