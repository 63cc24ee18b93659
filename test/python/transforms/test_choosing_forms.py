"""Forms of convolutions for several processors, and within a budget of bytes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xir.cost.profile import load_profile
from xir.transforms.xnnpack.composed_convolutions.choosing import Predicted, allotted, least_gains, worthwhile
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, IM2COL, Form

SMALL, LARGE, PLAIN = Form(2, 2), Form(4, 4), Form(4, 4, by_gemm=True)


def chosen(times: dict[Form, tuple[float, ...]], is_generic: bool, profile: str = "zen4") -> Form:
    least = least_gains([load_profile(profile)] * len(times[DIRECT]), is_generic)
    options = worthwhile({form: Predicted(each, 0) for form, each in times.items()}, least)
    return allotted([options], None)[0]


@pytest.mark.parametrize(
    ("times", "is_generic", "form"),
    [
        ({DIRECT: (1000.0,), SMALL: (899.0,)}, False, SMALL),
        ({DIRECT: (1000.0,), SMALL: (901.0,)}, False, DIRECT),
        ({DIRECT: (100.0,), SMALL: (81.0,)}, False, DIRECT),  # 19 µs
        ({DIRECT: (1000.0,), LARGE: (500.0,), PLAIN: (460.0,)}, False, LARGE),
        ({DIRECT: (1000.0,), LARGE: (500.0,), PLAIN: (440.0,)}, False, PLAIN),
        ({DIRECT: (1000.0, 1000.0), SMALL: (940.0, 940.0)}, True, SMALL),
        # Half of the time on one processor is not enough if it is slower on the other.
        ({DIRECT: (1000.0, 1000.0), SMALL: (500.0, 960.0)}, True, DIRECT),
        ({DIRECT: (1000.0, 1000.0), SMALL: (500.0, 960.0), LARGE: (940.0, 940.0)}, True, LARGE),
        # The mean decides between two that both gain by: a slow processor's microseconds do not count for more.
        ({DIRECT: (9000.0, 900.0), SMALL: (4500.0, 850.0), LARGE: (6500.0, 400.0)}, True, LARGE),
    ],
)
def test_what_is_worth_it(times: dict[Form, tuple[float, ...]], is_generic: bool, form: Form) -> None:
    assert chosen(times, is_generic) == form


@pytest.mark.parametrize(
    ("small", "large", "form"),
    [
        # (one thread, two threads), of 1000 and 500.
        ((600.0, 549.0), (960.0, 100.0), SMALL),
        ((600.0, 551.0), (940.0, 500.0), LARGE),
        ((600.0, 450.0), (500.0, 541.0), SMALL),
        ((600.0, 450.0), (500.0, 539.0), LARGE),
    ],
)
def test_two_threads_count_as_much_as_one(small: tuple[float, float], large: tuple[float, float], form: Form) -> None:
    """A form that loses more than a tenth on two threads is not taken; of others the product of both decides."""
    times = {DIRECT: (1000.0, 500.0), SMALL: small, LARGE: large}
    options = {form: Predicted((one,), 0, (two,)) for form, (one, two) in times.items()}
    assert allotted([worthwhile(options, [0.05])], None) == [form]


@pytest.mark.parametrize("is_generic", [True, False])
def test_by_a_profile_that_nobody_measured_a_form_is_much_faster(is_generic: bool) -> None:
    for took, form in ((775.0, DIRECT), (769.0, SMALL)):
        assert chosen({DIRECT: (1000.0,), SMALL: (took,)}, is_generic, "cortex-a76") == form
    assert chosen({DIRECT: (1000.0, 1000.0), SMALL: (500.0, 775.0)}, is_generic, "cortex-a76") == DIRECT


def test_bytes_go_where_they_save_the_most() -> None:
    """An early layer, of few channels, saves as much as a late one for a tenth of the bytes."""
    early = {DIRECT: Predicted((1000.0,), 0), SMALL: Predicted((600.0,), 10), LARGE: Predicted((500.0,), 30)}
    late = {DIRECT: Predicted((1000.0,), 0), SMALL: Predicted((600.0,), 100), LARGE: Predicted((500.0,), 300)}
    assert allotted([early, late], 0) == [DIRECT, DIRECT]
    assert allotted([early, late], 10) == [SMALL, DIRECT]
    assert allotted([early, late], 129) == [LARGE, DIRECT]
    assert allotted([early, late], 130) == [LARGE, SMALL]
    assert allotted([early, late], None) == [LARGE, LARGE]


def test_what_adds_no_bytes_is_free() -> None:
    assert allotted([{DIRECT: Predicted((1000.0,), 0), IM2COL: Predicted((900.0,), 0)}], 0) == [IM2COL]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 50)), min_size=1, max_size=4), min_size=1, max_size=4
    ),
    st.integers(0, 120),
)
def test_the_budget_holds_and_little_is_lost(drawn: list[list[tuple[int, int]]], budget: int) -> None:
    """Against all combinations: never more bytes, and what is lost is at most the largest single saving."""
    forms = (DIRECT, SMALL, LARGE, PLAIN)
    options = [
        {form: Predicted((float(time),), added if index else 0) for index, (form, (time, added)) in
         enumerate(zip(forms, each, strict=False))}
        for each in drawn
    ]  # fmt: skip
    taken = allotted(options, budget)
    assert sum(each[form].added for each, form in zip(options, taken, strict=True)) <= budget

    def spent(combination: tuple[Form, ...]) -> float:
        return sum(each[form].mean for each, form in zip(options, combination, strict=True))

    possible = [
        each for each in itertools.product(*options)
        if sum(have[form].added for have, form in zip(options, each, strict=True)) <= budget
    ]  # fmt: skip
    largest = max(each[DIRECT].mean - min(form.mean for form in each.values()) for each in options)
    assert spent(tuple(taken)) <= min(map(spent, possible)) + largest + 1e-6
