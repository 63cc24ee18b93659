"""Models of a line or two, to try things on."""

import torch


class Add(torch.nn.Module):
    """Some additions, of which one has the same value twice."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x + y
        z = z + x
        return z + z


class AddMul(torch.nn.Module):
    """a @ x + b."""

    def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.mm(a, x) + b


def linear() -> torch.nn.Module:
    """A linear layer from 3 to 3 features."""
    return torch.nn.Linear(3, 3)


def add() -> torch.nn.Module:
    """See `Add`."""
    return Add()


def add_mul() -> torch.nn.Module:
    """See `AddMul`."""
    return AddMul()
