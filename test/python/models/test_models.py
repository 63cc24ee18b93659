"""The model zoo: names, reproducible weights, outputs of order one, state dicts."""

from pathlib import Path

import pytest
import torch

from xir.models import MODELS, ModelError, load_model
from xir.models.weights import load_weights, settle_random_weights

SMALL = ["linear", "add", "add_mul", "mv3", "lstm", "emformer_join"]
"""What loads and runs in a moment; the other models go through the same code."""


@pytest.mark.parametrize("name", SMALL)
def test_weights_and_inputs_are_the_same_every_time_and_leave_the_random_state_alone(name: str) -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    (first, inputs), (second, again) = load_model(name), load_model(name)
    assert torch.equal(torch.get_rng_state(), before)
    with torch.no_grad():
        assert torch.equal(first(*inputs), second(*again))


LARGE = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ("edsr", "w2l")]


@pytest.mark.parametrize("name", ["mv2", "mv3", "lstm", "emformer_predict", *LARGE])
def test_outputs_are_of_order_one(name: str) -> None:
    model, inputs = load_model(name)
    assert not any(module.training for module in model.modules())
    with torch.no_grad():
        output = model(*inputs)
        other = model(*(torch.randn_like(x) if x.is_floating_point() else x.flip(-1) for x in inputs))
    assert 0.5 < output.std() < 2
    assert (output - other).abs().max() > 0.1, "the output depends on the input"


def test_batch_norms_keep_their_momentum() -> None:
    model, _ = load_model("mv3")
    assert {m.momentum for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)} == {0.01}


def test_a_head_of_zeros_becomes_random() -> None:
    model = torch.nn.Linear(8, 200)
    torch.nn.init.zeros_(model.weight)
    settle_random_weights(model, (torch.randn(1, 8),))
    assert model(torch.randn(1, 8)).std() > 0.5


def test_unknown_name() -> None:
    with pytest.raises(ModelError, match="there is no model 'mv9': choose from add, add_mul"):
        load_model("mv9")


def test_every_entry_names_its_factory() -> None:
    from importlib import import_module

    for model in MODELS.values():
        assert callable(getattr(import_module(f"xir.models.{model.module}"), model.factory))


# State dicts


def test_weights_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "linear.pt"
    state = {"weight": torch.full((3, 3), 2.0), "bias": torch.zeros(3)}
    torch.save(state, path)
    model, _ = load_model("linear", path)
    assert torch.equal(model.get_parameter("weight"), state["weight"])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"weight": torch.zeros(3, 3)}, "does not fit the model: 'bias' is missing"),
        ({"weight": torch.zeros(3, 3), "bias": torch.zeros(3), "x": torch.zeros(1)}, "'x' is not in the model"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(3)}, r"'weight' has shape \(2, 3\), expected \(3, 3\)"),
        ({"other": torch.zeros(1)}, r"\(and 2 more\)"),
        (torch.zeros(3), "holds a Tensor, not a state dict"),
    ],
)
def test_weights_that_do_not_fit(tmp_path: Path, state: object, message: str) -> None:
    path = tmp_path / "weights.pt"
    torch.save(state, path)
    with pytest.raises(ModelError, match=message):
        load_weights(torch.nn.Linear(3, 3), path)


def test_weights_that_are_no_file(tmp_path: Path) -> None:
    """Nor can a file run code."""
    with pytest.raises(ModelError, match="no such file"):
        load_model("linear", tmp_path / "none.pt")
    path = tmp_path / "weights.pt"
    path.write_bytes(b"hello")
    with pytest.raises(ModelError, match="not a state dict that torch can load"):
        load_model("linear", path)
    torch.save({"weight": Path("x")}, path)
    with pytest.raises(ModelError, match="not a state dict that torch can load"):
        load_model("linear", path)
