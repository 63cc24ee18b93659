"""The operators in PyTorch, for models that call them; only they import torch."""

import torch


@torch.library.custom_op("softclip::softclip", mutates_args=())
def softclip(self: torch.Tensor, limit: float) -> torch.Tensor:
    """`limit · tanh(self / limit)`"""
    return limit * torch.tanh(self / limit)


@softclip.register_fake
def _(self: torch.Tensor, limit: float) -> torch.Tensor:
    return torch.empty_like(self)


@torch.library.custom_op("softclip::clipped", mutates_args=())
def clipped(self: torch.Tensor, limit: float) -> torch.Tensor:
    """The share of elements beyond the limit."""
    return (self.abs() > limit).float().mean()


@clipped.register_fake
def _(self: torch.Tensor, limit: float) -> torch.Tensor:
    return self.new_empty(())
