"""Placing a graph in layers, after Sugiyama, Tagawa and Toda (1981): edges go down, nodes do not overlap.

1. Each node gets a layer, below all that it reads. Where an edge passes a layer it gets a place there, which the edges
   of one source share.
2. Sweeps down and up order each layer by where its neighbours are, so that few edges cross.
3. More sweeps move the nodes of each layer towards their neighbours as far as their order and widths allow: that is a
   least-squares fit of an increasing sequence, which pooling adjacent violators solves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median

Point = tuple[float, float]

GAP_X = 24.0
"""Between the nodes of a layer."""
GAP_Y = 36.0
"""Between layers."""
PASSAGE = 8.0
"""The width that an edge takes where it passes a layer."""
NODE_WEIGHT = 16.0
"""How much harder a node is moved than a passage."""
ORDERINGS = 6
PLACINGS = 8


@dataclass(frozen=True)
class Layout:
    """Where things are, in pixels from the upper left corner."""

    positions: list[Point]
    """Each node's upper left corner."""
    paths: list[list[Point]]
    """Each edge, from the lower border of what is read to the upper border of what reads it."""
    width: float
    height: float


@dataclass(eq=False)
class _Item:
    """A node, or the passage of one node's edges through a layer."""

    layer: int
    width: float
    is_passage: bool = False
    above: list[_Item] = field(default_factory=list["_Item"])
    below: list[_Item] = field(default_factory=list["_Item"])
    x: float = 0.0
    """Of the centre."""
    position: float = 0.0
    """In the order of its layer."""


def layered(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> Layout:
    """Place nodes of these widths and heights. An edge leads from a node to a later one; ValueError for any other."""
    if any(not 0 <= source < target < len(sizes) for source, target in edges):
        raise ValueError("an edge has to lead from a node to a later one")
    if not sizes:
        return Layout([], [], 0.0, 0.0)
    ranks = _layers(len(sizes), edges)
    items = [_Item(layer, width) for layer, (width, _) in zip(ranks, sizes, strict=True)]
    passages: dict[tuple[int, int], _Item] = {}
    for source, target in dict.fromkeys(edges):
        upper = items[source]
        for layer in range(ranks[source] + 1, ranks[target]):
            passage = passages.get((source, layer))
            if passage is None:
                passage = passages[source, layer] = _Item(layer, PASSAGE, is_passage=True)
                _connect(upper, passage)
            upper = passage
        _connect(upper, items[target])
    layers: list[list[_Item]] = [[] for _ in range(max(ranks) + 1)]
    for item in (*items, *passages.values()):
        layers[item.layer].append(item)
    _order(layers)
    _place(layers)
    return _finish(sizes, edges, ranks, items, passages, layers)


def _connect(upper: _Item, lower: _Item) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Each node below all that it reads; one that reads nothing right above the first that reads it."""
    ranks = [0] * count
    reads = set[int]()
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        ranks[target] = max(ranks[target], ranks[source] + 1)
        reads.add(target)
    nearest: dict[int, int] = {}
    for source, target in edges:
        if source not in reads:
            nearest[source] = min(nearest.get(source, count), ranks[target] - 1)
    for source, rank in nearest.items():
        ranks[source] = rank
    return ranks


def _order(layers: list[list[_Item]]) -> None:
    for layer in layers:
        _number(layer)
    for sweep in range(ORDERINGS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            for item in layer:
                neighbors = item.above if down else item.below
                if neighbors:
                    item.position = mean(neighbor.position for neighbor in neighbors)
            layer.sort(key=lambda item: item.position)
            _number(layer)


def _number(layer: list[_Item]) -> None:
    """Positions from -1 to 1, so that those of wide and narrow layers compare."""
    for index, item in enumerate(layer):
        item.position = (2 * index + 1) / len(layer) - 1


def _place(layers: list[list[_Item]]) -> None:
    for layer in layers:
        _fit(layer, [0.0] * len(layer))
    for sweep in range(PLACINGS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _fit(layer, [_wish(item, down) for item in layer])


def _wish(item: _Item, down: bool) -> float:
    """Where an item wants to be: at the middle of its neighbours. A node that has nodes among them does not look at
    passages, so that a branch that goes round some nodes does not push these aside."""
    first, second = (item.above, item.below) if down else (item.below, item.above)
    neighbors = first or second
    if not item.is_passage:
        neighbors = [each for each in neighbors if not each.is_passage] or neighbors
    return median(each.x for each in neighbors) if neighbors else item.x


def _fit(layer: list[_Item], wishes: Sequence[float]) -> None:
    """Move items as near to their wishes as their order and widths allow, by least squares; passages make way."""
    # An item's offset is where it stands if all before it stand as near as they may. Less the offsets, the places that
    # are sought are an increasing sequence.
    offsets: list[float] = []
    for index, item in enumerate(layer):
        before = layer[index - 1] if index else None
        offsets.append(offsets[-1] + (before.width + item.width) / 2 + GAP_X if before else 0.0)
    pools: list[tuple[float, float, int]] = []
    """Weighted sum, weight and number of the items that stand as near to each other as they may."""
    for item, wish, offset in zip(layer, wishes, offsets, strict=True):
        weight = 1.0 if item.is_passage else NODE_WEIGHT
        total, count = weight * (wish - offset), 1
        while pools and pools[-1][0] / pools[-1][1] > total / weight:
            more, heavier, others = pools.pop()
            total, weight, count = total + more, weight + heavier, count + others
        pools.append((total, weight, count))
    index = 0
    for total, weight, count in pools:
        for _ in range(count):
            layer[index].x = total / weight + offsets[index]
            index += 1


def _finish(
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    ranks: Sequence[int],
    items: Sequence[_Item],
    passages: dict[tuple[int, int], _Item],
    layers: Sequence[Sequence[_Item]],
) -> Layout:
    heights = [0.0] * len(layers)
    for rank, (_, height) in zip(ranks, sizes, strict=True):
        heights[rank] = max(heights[rank], height)
    tops = [0.0]
    for height in heights:
        tops.append(tops[-1] + height + GAP_Y)
    left = min(item.x - item.width / 2 for layer in layers for item in layer)
    right = max(item.x + item.width / 2 for layer in layers for item in layer)
    positions = [(item.x - item.width / 2 - left, tops[item.layer]) for item in items]
    paths: list[list[Point]] = []
    for source, target in edges:
        path = [(items[source].x - left, tops[ranks[source]] + sizes[source][1])]
        for layer in range(ranks[source] + 1, ranks[target]):
            x = passages[source, layer].x - left
            path += [(x, tops[layer]), (x, tops[layer] + heights[layer])]
        paths.append([*path, (items[target].x - left, tops[ranks[target]])])
    return Layout(positions, paths, right - left, tops[-1] - GAP_Y)
