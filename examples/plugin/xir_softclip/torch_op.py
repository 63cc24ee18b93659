"""The operator in PyTorch, for models that call it; only they import torch."""

import torch


@torch.library.custom_op("softclip::softclip", mutates_args=())
def softclip(self: torch.Tensor, limit: float) -> torch.Tensor:
    """`limit · tanh(self / limit)`"""
    return limit * torch.tanh(self / limit)


@softclip.register_fake
def _(self: torch.Tensor, limit: float) -> torch.Tensor:
    return torch.empty_like(self)
