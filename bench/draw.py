"""Draws docs/performance.md and its plots from the results that `make tables` has kept as JSON.

Plots are SVG with a transparent ground and colours that are legible on light and on dark pages. A table has what was
measured in one run; nothing is computed but ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.models import MODELS

if TYPE_CHECKING:
    from bench.tables import Results, Row

COLORS = {
    "xir": "#2a9d8f",
    "xir native": "#1f78c8",
    "ExecuTorch": "#e76f51",
    "ONNX Runtime": "#b5891d",
    "OpenVINO": "#9b6bd3",
    "LiteRT": "#c2517d",
}
GRAY = "#808890"
"""Of text and axes: its contrast to white and to black is at least 3.5."""

FORM_NAMES = {"portable": "fp32, portable kernels", "fp32": "fp32", "int8": "int8, static", "int4": "4-bit weights"}
FORM_NOTES = {
    "fp32": "OpenVINO is told to compute in fp32: by default it computes in bf16 where the processor has it.",
    "int8": "By each runtime's own quantiser, on the same eight inputs. [Trained models](trained_models.md) show what\n"
    "quantisers cost in accuracy.",
    "int4": "Of linear layers, in groups of 32. Activations become 8 bits at run time; OpenVINO's stay in float.",
}


def draw_page(results: Sequence[Results], page: Path) -> list[Path]:
    """Write the page and the plots beside it, in its folder `images`; all that was written."""
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Performance",
        "",
        "`make tables` measures what the machine has, keeps the numbers in `bench/results/`, and writes this page from",
        "them. Weights are random, inputs of the models' own shape. Times are medians of alternating rounds with the",
        "runtimes in turn, *first* is the first iteration after loading, and *memory* what both add to a process at",
        "its peak, on one thread; *compile* is the time from the exported program to the file.",
        "Absolute times differ between machines and hours; what can be quoted is a ratio within one run.",
        "",
    ]
    written: list[Path] = []
    for each in results:
        versions = ", ".join(f"{name} {number}" for name, number in each.versions.items())
        lines += [f"## {each.processor}", "", f"{each.cores} cores, {each.date}; {versions}.", ""]
        for form in FORM_NAMES:
            rows = [row for row in each.rows if row.form == form]
            if not rows:
                continue
            lines += [f"### {FORM_NAMES[form]}", ""]
            if form in FORM_NOTES:
                lines += [FORM_NOTES[form], ""]
            picture = images / f"performance_{stem(each)}_{form}.svg"
            if draw_plot(rows, picture):
                lines += [f"![Latency of each model in each runtime, {form}](images/{picture.name})", ""]
                written.append(picture)
            lines += [*table(rows), ""]
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return [page, *written]


def stem(results: Results) -> str:
    """The processor's name, as part of a file's."""
    from bench.tables import slug

    return slug(results.processor)


def title(model: str) -> str:
    """A model of the zoo by its full name."""
    return MODELS[model].summary if model in MODELS else model


def order(row: Row) -> tuple[str, int]:
    """Where a row stands: by model, then by runtime as in the legend."""
    names = list(COLORS)
    return row.model, names.index(row.runtime) if row.runtime in COLORS else len(names)


def table(rows: Sequence[Row]) -> list[str]:
    """Markdown, a line for each runtime of a model: the median on each number of threads, and behind it what that is of
    ExecuTorch's, where both were measured. First run, memory, file and compilation are of the fewest threads.
    """
    threads = sorted({row.threads for row in rows})
    medians = {(row.model, row.runtime, row.threads): row.median_ms for row in rows}
    shown = {(row.model, row.runtime): row for row in sorted(rows, key=lambda row: -row.threads)}
    counts = [f"{count} thread{'' if count == 1 else 's'}, ms | of ExecuTorch's" for count in threads]
    columns = ["model", "runtime", "first, ms", *counts, "memory, MB", "file, MB", "compile, s"]
    lines = [f"| {' | '.join(columns)} |", f"|:--|:--|{'--:|' * (4 + 2 * len(threads))}"]
    for row in sorted(shown.values(), key=order):
        cells = [title(row.model), row.runtime, f"{row.first_ms:.2f}"]
        for count in threads:
            median = medians.get((row.model, row.runtime, count))
            stock = medians.get((row.model, "ExecuTorch", count))
            cells.append("" if median is None else f"{median:.2f}")
            cells.append("" if not median or not stock or row.runtime == "ExecuTorch" else f"{median / stock:.2f}")
        cells += [f"{row.memory_bytes / 1e6:.1f}", f"{row.file_bytes / 1e6:.2f}", f"{row.compile_s:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def draw_plot(rows: Sequence[Row], path: Path) -> bool:
    """Bars of the medians on one thread, relative to ExecuTorch's or else the slowest; False without matplotlib."""
    if find_spec("matplotlib") is None:
        return False
    import matplotlib as mpl  # pyright: ignore[reportMissingImports]

    mpl.use("svg")
    from matplotlib import pyplot  # pyright: ignore[reportMissingImports]
    from matplotlib.patches import Rectangle  # pyright: ignore[reportMissingImports]

    threads = min(row.threads for row in rows)
    rows = sorted((row for row in rows if row.threads == threads), key=order)
    models = list(dict.fromkeys(row.model for row in rows))
    runtimes = list(dict.fromkeys(row.runtime for row in rows))
    settings: Any = {
        "svg.fonttype": "none",  # text stays text, in the reader's font
        "svg.hashsalt": "xir",  # the same rows give the same bytes
        "text.color": GRAY,
        "axes.labelcolor": GRAY,
        "xtick.color": GRAY,
        "ytick.color": GRAY,
        "axes.edgecolor": GRAY,
    }
    with mpl.rc_context(settings):
        figure, axes = pyplot.subplots(figsize=(8, 0.5 + 0.28 * len(rows)), layout="constrained")
        place, ticks = 0.0, list[float]()
        for model in models:
            own = [row for row in rows if row.model == model]
            slowest = max(row.median_ms for row in own)
            ticks.append(place + (len(own) - 1) / 2)
            for row in own:
                axes.barh(place, row.median_ms / slowest, color=COLORS.get(row.runtime, GRAY), height=0.85)
                axes.text(row.median_ms / slowest, place, f" {row.median_ms:.2f} ms", va="center", fontsize=8)
                place += 1
            place += 0.8
        axes.set_yticks(ticks, [title(model) for model in models])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15)
        axes.set_xticks([])
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        handles = [Rectangle((0, 0), 1, 1, color=COLORS.get(name, GRAY)) for name in runtimes]
        axes.legend(handles, runtimes, frameon=False, fontsize=8, loc="lower right")
        plural = "" if threads == 1 else "s"
        axes.set_title(f"Median latency, {threads} thread{plural}, of each model's slowest", fontsize=9, loc="left")
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(path, format="svg", transparent=True, metadata=none)
        pyplot.close(figure)
    return True
