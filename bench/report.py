"""The measurements as markdown tables."""

from bench.latency import Latency
from bench.lowering import Lowering


def latency_table(measured: list[tuple[Latency, ...]]) -> str:
    """One row a thread count; milliseconds, and our median over stock's. Our float program's, where it was measured."""
    has_float = len(measured[0]) > 2
    lines = [
        "| threads | xir median / min | ExecuTorch median / min | ratio | first iteration: xir / ET | load: xir / ET |"
        + (" xir fp32 median |" if has_float else ""),
        "|--:|--:|--:|--:|--:|--:|" + ("--:|" if has_float else ""),
    ]
    for ours, stock, *others in measured:
        lines.append(
            f"| {ours.threads} | {ours.median:.2f} / {ours.minimum:.2f} | {stock.median:.2f} / {stock.minimum:.2f} "
            f"| **{ours.median / stock.median:.3f}** | {ours.first:.1f} / {stock.first:.1f} "
            f"| {ours.load:.0f} / {stock.load:.0f} |" + "".join(f" {other.median:.2f} |" for other in others)
        )
    return "\n".join(lines)


def accuracy_table(ratios: dict[str, float]) -> str:
    """SQNR, a column each: against the float model unless the name says otherwise."""
    names, values = " | ".join(ratios), " | ".join(f"{ratio:.1f}" for ratio in ratios.values())
    return f"| SQNR, dB | {names} |\n|:--|{'--:|' * len(ratios)}\n| against fp32 eager | {values} |"


def lowering_table(lowerings: list[Lowering]) -> str:
    """One row a compiler."""
    lines = ["| compiler | lowering s | `.pte` MB |", "|:--|--:|--:|"]
    lines += [f"| {row.compiler} | {row.seconds:.2f} | {row.size / 1e6:.2f} |" for row in lowerings]
    return "\n".join(lines)
