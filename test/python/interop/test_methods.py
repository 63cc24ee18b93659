"""Programs of several methods, as stock ExecuTorch writes them: weights that methods share are packed once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import nn

from xir.runtime import Runtime


class Model(nn.Module):
    """A convolution and two layers; one method for images, one for a batch of features."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3)
        self.first = nn.Linear(16, 200)
        self.second = nn.Linear(200, 50)

    def head(self, x: torch.Tensor) -> torch.Tensor:
        """The layers alone."""
        return self.second(torch.relu(self.first(x)))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """From an image."""
        return self.head(self.conv(image).mean((2, 3)))


class Head(nn.Module):
    """The layers of a model as a model."""

    def __init__(self, model: Model):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the model makes of features."""
        return self.model.head(x)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


@pytest.fixture(scope="module")
def program(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    exported = {
        "image": torch.export.export(model, (torch.randn(2, 3, 16, 16),)),
        "features": torch.export.export(Head(model).eval(), (torch.randn(7, 16),)),
    }
    lowered = to_edge_transform_and_lower(exported, partitioner=[StockPartitioner()]).to_executorch()
    path = tmp_path_factory.mktemp("methods") / "two.pte"
    path.write_bytes(lowered.buffer)
    return path


def test_methods_share_packed_weights(model: Model, program: Path, tmp_path: Path):
    torch.manual_seed(1)
    image, features = torch.randn(2, 3, 16, 16), torch.randn(7, 16)
    with torch.no_grad():
        expected = {"image": model(image), "features": model.head(features)}
    layers = (16 * 200 + 200 * 50) * 4  # bytes of the weights that both methods read
    for kept in (False, True):
        loaded = Runtime.get().load_program(program, threads=1, packed_weights=tmp_path / "packed")
        first = loaded.load_method("image")
        alone = loaded.packed_weights.nbytes
        assert alone > layers
        second = loaded.load_method("features")
        assert loaded.packed_weights.nbytes == alone
        assert loaded.packed_weights.read == kept
        torch.testing.assert_close(first.execute([image])[0], expected["image"], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(second.execute([features])[0], expected["features"], rtol=1e-4, atol=1e-5)
    # Neither needs the other to have been loaded.
    loaded = Runtime.get().load_program(program, threads=1)
    (alone,) = loaded.load_method("features").execute([features])
    torch.testing.assert_close(alone, expected["features"], rtol=1e-4, atol=1e-5)
