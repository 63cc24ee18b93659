"""Modelled profiles: how far the formula is from measured ones, and how much its choices depend on a figure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from xir.cost.modelled import REACHED, CoreFigures, Product, ProductTile, core_names, load_core, profile_of
from xir.cost.processors import processors
from xir.cost.profile import SHIPPED, CostProfile, load_profile
from xir.cost.work import DYNAMIC_KERNELS, FLOAT_KERNELS, INTEGER_KERNELS, KERNELS, Kernel
from xir.transforms.xnnpack.composed_convolutions.choosing import Predicted, fastest, least_gains, worthwhile
from xir.transforms.xnnpack.composed_convolutions.costs import added_bytes, predicted
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Axis, Convolution, Form
from xir.tuning.measure import samples

MEASURED = ("zen3", "zen4")
"""The processors with public figures and a measured profile."""

PLAIN = [(56, 64, 64, 3, 1), (28, 128, 128, 3, 1), (14, 256, 256, 3, 1), (7, 512, 512, 3, 1)]
HALVING = [(224, 3, 64, 7, 2), (56, 64, 128, 3, 2), (28, 128, 256, 3, 2), (14, 256, 512, 3, 2), (56, 128, 128, 3, 2)]
LARGE = [(224, 3, 64, 3, 1), (112, 64, 128, 3, 1), (56, 128, 256, 3, 1), (28, 256, 512, 3, 1), (14, 512, 512, 3, 1)]
LAYERS = [*PLAIN, *HALVING, *LARGE]
"""Size, channels before and behind, taps and stride: ResNet's and VGG's."""

WEIGHTS = 46_800_000
"""Bytes of a program's weights: ResNet-18's."""


def convolution(size: int, before: int, behind: int, taps: int, stride: int) -> Convolution:
    axis = Axis(size, taps, taps // 2, taps // 2, stride)
    return Convolution(axis, axis, before, behind)


def times(of: Convolution, profiles: list[CostProfile]) -> dict[Form, Predicted]:
    """Microseconds of each form by each profile."""
    weighted = [profile.of_program(WEIGHTS) for profile in profiles]
    found: dict[Form, Predicted] = {}
    for form in (DIRECT, *of.forms(4.0)):
        took = tuple(predicted(of, form, 1, False, each) / 1e3 for each in weighted)
        found[form] = Predicted(took, added_bytes(of, form))
    return found


def chosen(found: dict[Form, Predicted], profiles: list[CostProfile]) -> Form:
    return fastest(worthwhile(found, least_gains(profiles, is_generic=len(profiles) > 1)))


@pytest.mark.parametrize(
    ("name", "kernels", "typical", "most", "products"),
    [
        ("zen3", FLOAT_KERNELS, 1.2, 1.6, 1.15),
        ("zen3", INTEGER_KERNELS, 1.5, 3.0, 1.15),
        ("zen4", FLOAT_KERNELS, 1.45, 1.9, 1.2),
        ("zen4", INTEGER_KERNELS, 2.2, 4.2, 1.35),
        ("zen4", DYNAMIC_KERNELS, 1.9, 6.5, 1.2),
    ],
)
def test_the_formula_predicts_measured_processors(
    name: str, kernels: Sequence[Kernel], typical: float, most: float, products: float
) -> None:
    """Nodes of all sizes that are measured: the median factor, that of the worst tenth, and the median of products.

    Those on fp16 are left out: neither processor computes in it, as cores do that the formula is for.
    """
    modelled, measured = profile_of(load_core(name)), load_profile(name)
    works = [
        work for sample in samples() if sample.kernel in kernels for work in sample.works() if work.kernel in kernels
    ]
    ratios = [modelled.nanoseconds(work) / measured.nanoseconds(work) for work in works]
    factors = sorted(max(ratio, 1 / ratio) for ratio in ratios)
    assert len(factors) > 70
    assert median(factors) < typical
    assert factors[int(0.9 * len(factors))] < most
    multiplying = {"gemm", "igemm", "qs8_gemm", "qc8w_igemm"}
    of_products = [ratio for work, ratio in zip(works, ratios, strict=True) if work.kernel in multiplying]
    assert 0.85 < median(of_products) < products


@pytest.mark.parametrize("name", MEASURED)
def test_what_it_chooses_for_measured_processors_is_nearly_the_best(name: str) -> None:
    modelled, measured = profile_of(load_core(name)), load_profile(name)
    taken = best = 0.0
    for layer in LAYERS:
        of = convolution(*layer)
        truth = times(of, [measured])
        form = chosen(times(of, [modelled]), [modelled])
        assert truth[form].mean <= truth[DIRECT].mean, f"{layer} as {form} is slower than direct"
        taken += truth[form].mean
        best += truth[chosen(truth, [measured])].mean
    assert taken < 1.03 * best


FIGURES = ("clock", "pipes", "loads", "stores", "scalar", "memory", "rates", "forward", "latency", "caches")


def another(core: CoreFigures, figure: str, factor: float) -> CoreFigures:
    """The same core with one figure that is off."""
    match getattr(core, figure):
        case (near, far):
            changed: object = (type(near)(near * factor), type(far)(far * factor))
        case number:
            changed = type(number)(max(number * factor, 1) if isinstance(number, int) else number * factor)
    return replace(core, **{figure: changed})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [name for name in core_names() if name not in MEASURED])
def test_what_generic_arm_chooses_gains_whichever_figure_is_a_half_off(name: str) -> None:
    """By the model, of course: it says that no single figure has to be right."""
    profiles = list(processors("generic-arm").profiles)
    forms = {layer: chosen(times(convolution(*layer), profiles), profiles) for layer in LAYERS}
    composed = {layer: form for layer, form in forms.items() if not form.is_direct}
    assert len(composed) >= 6
    core = load_core(name)
    for figure, factor in itertools.product(FIGURES, (2 / 3, 1.5)):
        profile = profile_of(another(core, figure, factor)).of_program(WEIGHTS)
        for layer, form in composed.items():
            direct, took = (predicted(convolution(*layer), each, 1, False, profile) for each in (DIRECT, form))
            assert took < direct, f"{layer} as {form} with {factor:.2f} times the {figure}"


def test_strided_convolutions_stay_direct_on_arm() -> None:
    """Its kernels for convolutions with strides are as fast as those for plain products, in contrast to AVX2's."""
    profiles = list(processors("generic-arm").profiles)
    for layer in HALVING:
        assert chosen(times(convolution(*layer), profiles), profiles) == DIRECT


def test_files_are_what_the_formula_makes() -> None:
    for name in core_names():
        if name not in MEASURED:
            assert (SHIPPED / f"{name}.toml").read_text(encoding="utf-8") == profile_of(load_core(name)).text()
            assert set(load_profile(name).kernels) == set(KERNELS)


CORE = replace(
    load_core("cortex-a76"),
    clock=1.0,
    pipes=2.0,
    latency=4,
    loads=2.0,
    tiles={"gemm": ProductTile(6, 8), "gemv": ProductTile(1, 8)},
)


def multiplied(core: CoreFigures, product: Product) -> float:
    """Cycles of a multiply-add of whole vectors, as if loops reached all that pipes allow."""
    return core.multiplied(product) * REACHED * core.clock * core.lanes


def test_products_take_what_the_busiest_part_of_the_core_does() -> None:
    assert multiplied(CORE, "gemm") == pytest.approx(1 / 2), "two pipes"
    assert multiplied(CORE, "gemv") == pytest.approx(4 / 2), "two accumulators that wait for four cycles"
    slow = replace(CORE, loads=0.25)
    assert multiplied(slow, "gemm") == pytest.approx((2 + 2) * 4 / 12), "two vectors of weights, two of numbers"
    broadcasting = replace(slow, broadcasts=True)
    assert multiplied(broadcasting, "gemm") == pytest.approx((2 + 6) * 4 / 12), "six numbers by themselves"


def test_a_compiled_kernel_that_has_too_few_registers_waits_for_memory() -> None:
    """XNNPACK's 5x16 for AVX2 keeps one of ten accumulators on the stack, where GCC compiles it."""
    core = load_core("zen3")
    assert multiplied(core, "igemm") == pytest.approx((4 + 8) / 10)
    assert multiplied(replace(core, registers=32), "igemm") == pytest.approx(1 / 2)
    assert multiplied(replace(core, compiled=frozenset()), "igemm") == pytest.approx(1 / 2)
    assert multiplied(core, "gemm") == pytest.approx(1 / 2), "assembly has as many as it needs"


def test_a_core_in_order_waits_for_what_it_loads() -> None:
    core = load_core("cortex-a55")
    waiting, ahead = core.levels(1.0), replace(core, overlaps=True).levels(1.0)
    assert all(one > other for one, other in zip(waiting, ahead, strict=True))
    assert waiting[0] == pytest.approx(1 + 1 / (core.rates[0] * core.clock))


def test_figures_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xir.cost.modelled.CORES", tmp_path)
    (tmp_path / "it.toml").write_text('processor = "it"\n[tiles]\ngemm = [1, 1]\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"it: its figures are \['processor'\], not \['broadcasts', 'caches'"):
        load_core("it")
