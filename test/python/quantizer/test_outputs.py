"""Outputs without a fixed place are compared where their numbers still have one."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import sqnr
from reference.modules import Calling, Function
from torch import Tensor, nn

from xir.quantizer import QuantConfig, quantize_and_measure
from xir.quantizer.outputs import FixedPlaces, output_nodes

r = torch.randn


def detections(m: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The boxes, scores and classes of the best places of an image, and all boxes."""
    y = torch.relu(m.features(x))
    boxes, scores = (head(y).flatten(2).transpose(1, 2) for head in (m.boxes, m.scores))
    score, label = scores.sigmoid().max(-1)
    best, places = score.topk(20)
    rows = places[..., None].expand(-1, -1, 4)
    return boxes.gather(1, rows), best, label.gather(1, places), boxes


@torch.no_grad()
def test_detections_are_compared_before_they_are_ordered() -> None:
    torch.manual_seed(0)
    heads = {"boxes": nn.Conv2d(16, 4, 1), "scores": nn.Conv2d(16, 3, 1)}
    detector = Calling(detections, features=nn.Conv2d(3, 16, 3, padding=1), **heads).eval()
    images = [r(1, 3, 12, 12) for _ in range(6)]
    program, report = quantize_and_measure(detector, (images[0],), images)
    boxes, best, labels, everything = report.outputs
    pairs = [(detector(x), program.module()(x)) for x in images]
    want, got = ([torch.cat(each) for each in zip(*outputs, strict=True)] for outputs in zip(*pairs, strict=True))
    assert sqnr(want[0], got[0]) < 15  # rows that changed places
    assert boxes.sqnr == pytest.approx(sqnr(want[3], got[3]), abs=0.01)
    assert everything.sqnr == boxes.sqnr > 30
    assert best.sqnr == pytest.approx(sqnr(want[1], got[1]), abs=0.01)
    assert [each.in_place for each in report.outputs] == [False, True, False, True]
    assert labels.equal == pytest.approx(float((want[2] == got[2]).double().mean()))
    assert labels.equal < labels.present <= 1
    common = sum(
        min(int((a == c).sum()), int((b == c).sum())) for a, b in zip(want[2], got[2], strict=True) for c in range(3)
    )
    assert labels.present == pytest.approx(common / want[2].numel())
    assert report.output == boxes.sqnr
    assert "output 0: " in report.text()
    assert " dB before the choice that orders its rows, in '" in report.text()
    assert all(math.isfinite(layer.outputs) for layer in report.layers)


@torch.no_grad()
def test_a_model_that_returns_classes_alone_is_bounded_by_its_scores() -> None:
    torch.manual_seed(1)
    layers = {"hidden": nn.Linear(16, 16), "head": nn.Linear(16, 10)}
    model = Calling(lambda m, x: m.head(torch.relu(m.hidden(x))).argmax(-1), **layers).eval()
    inputs = [r(64, 16) for _ in range(3)]
    _, report = quantize_and_measure(model, (inputs[0],), inputs)
    (classes,) = report.outputs
    assert 25 < classes.sqnr < 60
    assert classes.before == ("linear_1",)
    assert 0.8 < classes.equal <= 1
    _, better = quantize_and_measure(model, (inputs[0],), inputs, QuantConfig(min_sqnr=classes.sqnr + 1))
    assert better.kept
    assert better.output >= classes.sqnr + 1


@torch.no_grad()
def test_results_of_a_changing_size() -> None:
    """Rows above a bound, of which the quantised program may have others, and more or less of them."""

    def found(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        y = m.linear(x)
        return y[y[:, 0] > 0], (y[:, 0] > 0).nonzero()

    torch.manual_seed(2)
    model, inputs = Calling(found, linear=nn.Linear(8, 2)).eval(), [r(500, 8) for _ in range(4)]
    _, report = quantize_and_measure(model, (inputs[0],), inputs)
    rows, places = report.outputs
    assert rows.sqnr == places.sqnr > 30
    assert not rows.in_place
    assert places.present > 0.9


def test_what_has_a_place() -> None:
    """Values in order are comparable, positions are not; nor is what comes after them."""

    def several(x: Tensor) -> tuple[Tensor, ...]:
        ordered, places = torch.sort(x, dim=-1)
        mask = x > 0
        return (ordered, places, x.max(-1).values, x.max(-1).indices, torch.where(mask, x, -x), mask,
                torch.sin(x.gather(-1, places)), x.to(torch.int64), x.flatten().argsort() + 1)  # fmt: skip

    graph = torch.export.export(Function(several), (r(4, 6),)).graph
    places = FixedPlaces(graph)
    found = [places.is_fixed(node) for node in output_nodes(graph)]
    assert found == [True, False, True, False, True, True, False, True, False]
