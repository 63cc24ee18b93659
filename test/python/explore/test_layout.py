"""The layered layout: what it promises for any graph, and what makes it worth looking at."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xir.explore.layout import GAP_X, GAP_Y, Layout, layered

QUICK = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

Graph = tuple[list[tuple[float, float]], list[tuple[int, int]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sizes = draw(st.lists(st.tuples(st.integers(10, 300), st.integers(10, 100)), min_size=1, max_size=30))
    count = len(sizes)
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=60))
    return [(float(w), float(h)) for w, h in sizes], [(min(p), max(p)) for p in pairs if p[0] != p[1]]


def inside(layout: Layout, sizes: list[tuple[float, float]]) -> bool:
    return all(
        x >= -1e-6 and x + width <= layout.width + 1e-6 and y >= -1e-6 and y + height <= layout.height + 1e-6
        for (x, y), (width, height) in zip(layout.positions, sizes, strict=True)
    )


@QUICK
@given(graphs())
def test_nodes_are_apart_and_edges_go_down(graph: Graph) -> None:
    sizes, edges = graph
    layout = layered(sizes, edges)
    assert len(layout.positions) == len(sizes)
    assert inside(layout, sizes)
    for first, (x, y) in enumerate(layout.positions):
        for second in range(first):
            left, top = layout.positions[second]
            beside = x + sizes[first][0] + GAP_X <= left + 1e-6 or left + sizes[second][0] + GAP_X <= x + 1e-6
            above = y + sizes[first][1] + GAP_Y <= top + 1e-6 or top + sizes[second][1] + GAP_Y <= y + 1e-6
            assert beside or above
    for (source, target), path in zip(edges, layout.paths, strict=True):
        assert path[0] == pytest.approx(
            (layout.positions[source][0] + sizes[source][0] / 2, layout.positions[source][1] + sizes[source][1])
        )
        assert path[-1] == pytest.approx(
            (layout.positions[target][0] + sizes[target][0] / 2, layout.positions[target][1])
        )
        assert all(upper[1] < lower[1] for upper, lower in pairwise(path))


@QUICK
@given(graphs())
def test_no_edge_goes_through_a_node(graph: Graph) -> None:
    sizes, edges = graph
    layout = layered(sizes, edges)
    for path in layout.paths:
        # Between the layers nothing is in the way: where an edge passes one, it goes straight down.
        for (x, above), (_, below) in zip(path[1::2], path[2::2], strict=False):
            for (left, top), (width, height) in zip(layout.positions, sizes, strict=True):
                is_in_layer = above <= top and top + height <= below + 1e-6
                assert not (is_in_layer and left < x < left + width)


def test_a_chain_is_straight_beside_a_branch_that_goes_round_it() -> None:
    layout = layered([(80.0, 20.0)] * 12, [(i, i + 1) for i in range(11)] + [(0, 5), (5, 11)])
    xs = [x for x, _ in layout.positions]
    assert max(xs) - min(xs) < 20


def test_what_reads_nothing_stands_above_its_first_reader() -> None:
    layout = layered([(50.0, 20.0)] * 5, [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert layout.positions[3][1] == layout.positions[2][1]


def test_edges_back_are_refused() -> None:
    with pytest.raises(ValueError, match="to a later one"):
        layered([(1.0, 1.0)] * 2, [(1, 0)])


def test_nothing() -> None:
    assert layered([], []) == Layout([], [], 0.0, 0.0)
