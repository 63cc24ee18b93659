"""The measurements as markdown tables."""

from bench.latency import Latency
from bench.lowering import Lowering


def latency_table(pairs: list[tuple[Latency, Latency]]) -> str:
    """One row a thread count; milliseconds, and our median over stock's."""
    lines = [
        "| threads | xir median / min | ExecuTorch median / min | ratio | first iteration: xir / ET | load: xir / ET |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {ours.threads} | {ours.median:.2f} / {ours.minimum:.2f} | {stock.median:.2f} / {stock.minimum:.2f} "
        f"| **{ours.median / stock.median:.3f}** | {ours.first:.1f} / {stock.first:.1f} "
        f"| {ours.load:.0f} / {stock.load:.0f} |"
        for ours, stock in pairs
    ]
    return "\n".join(lines)


def lowering_table(lowerings: list[Lowering]) -> str:
    """One row a compiler."""
    lines = ["| compiler | lowering s | `.pte` MB |", "|:--|--:|--:|"]
    lines += [f"| {row.compiler} | {row.seconds:.2f} | {row.size / 1e6:.2f} |" for row in lowerings]
    return "\n".join(lines)
