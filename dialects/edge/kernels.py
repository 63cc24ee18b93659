"""Which kernels ExecuTorch has: a fact about its release, read from a list of their names."""

from functools import cache
from pathlib import Path

EXECUTORCH = "ExecuTorch 1.5.1"
"""The release that the list is of."""


@cache
def executorch_kernels() -> frozenset[str]:
    """The names under which ExecuTorch's runtime registers kernels, such as `aten::add.out`."""
    lines = Path(__file__).with_name("executorch_kernels.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def registering_module(operator: str) -> str | None:
    """The module whose import registers an operator such as `quantized_decomposed::embedding_4bit` with torch; None for
    those that importing torch registers."""
    namespace, _, name = operator.partition("::")
    if namespace == "xir":
        return "xir.importer.operators"
    if namespace == "torchao":
        return "torchao.quantization.quant_primitives"
    if namespace != "quantized_decomposed":
        return None
    if name.startswith("embedding_"):
        return "executorch.exir.passes._quant_patterns_and_replacements"
    return "torch.ao.quantization.fx._decomposed"
