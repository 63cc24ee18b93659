"""Write the reference pages, docs/reference/, from docstrings and definitions.

python scripts/generate_docs.py           rewrite the pages
python scripts/generate_docs.py --check   exit 1 and name the pages that are not up to date
"""

import argparse
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import meanings
import mlir_opt_flags
import operator_table
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation

from xir.dialects import edge, xnnpack
from xir.dialects.edge.kernels import EXECUTORCH, executorch_kernels
from xir.dialects.registry import DIALECTS
from xir.dialects.xnnpack.kinds import BINARY, UNARY
from xir.documentation import docstring, op_text, table
from xir.ir.annotations import ON_ARGUMENTS, ON_OPS, ON_RESULTS
from xir.ir.context import XirContext
from xir.ir.printer import module_to_text
from xir.runtime import portable_kernels
from xir.transforms.analysis.calls import Call
from xir.transforms.analysis.refusal import REFUSALS, Refusal
from xir.transforms.edge.decompositions import DECOMPOSITIONS
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES, describe
from xir.transforms.xnnpack import known_faults
from xir.transforms.xnnpack.known_faults import kernels as kernel_limits
from xir.transforms.xnnpack.legalizations import RULES

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/reference"
HEADER = (
    "<!-- Written by scripts/generate_docs.py: change the docstrings and definitions, then run `make docs`. -->\n\n"
)
OWN_DIALECTS = ("delegate", "pte", "quant", "xnnpack")
KINDS = {xnnpack.UnaryOp: UNARY, xnnpack.BinaryOp: BINARY}
MEASURED = FOLDER / "op_database.md"
"""What `make op-database` writes."""
COMMANDS = (
    "xir.tools.xir_opt",
    "xir.tools.xir_translate",
    "xir.tools.xir_bisect",
    "xir.tools.xir_reduce",
    "xir.tools.xir_lsp",
    "xir.tools.xir_explore",
    "xir.tools.xir_tune",
    "xir.tools.xir_sweep",
    "xir.tools.xir_llm",
    "xir.tools.xir_llm export",
    "xir.tools.xir_llm run",
    "xir.tools.xir_aot",
)


def passes_page() -> str:
    """The passes, each with its options, and the named pipelines."""
    text = (
        "# Passes\n\nEach pass is a flag of `xir-opt`, `--<pass>[=option=value …]`, and a name in `--pass-pipeline`.\n"
    )
    text += "The section of a pass says whether it is tested, or [proved](../testing.md#proofs) as well.\n\n"
    for name in PASSES:
        info = describe(name)
        text += f"## `{name}`\n\n{info.summary}\n\n"
        text += f"{info.description}\n\n" if info.description else ""
        text += proved(PASSES[name]().proved)
        text += table(
            ("option", "type", "default", "meaning"),
            ((f"`{o.name}`", f"`{o.type}`", f"`{o.default}`" if o.default else "", o.help) for o in info.options),
        )
    rows = ((f"`{name}`", f"`{each.text}`", each.reason) for name, each in PIPELINES.items())
    pipelines = table(("name", "pipeline", "what it is for"), rows)
    return f"{text}# Named pipelines\n\nA pipeline's name is a flag too.\n\n{pipelines}"


def proved(graphs: str) -> str:
    """Whether a pass is proved, for which graphs, or tested alone."""
    if not graphs:
        return "**Tested**, not proved.\n\n"
    return f"**Proved and tested**: proved to keep every value, at small shapes, for {graphs}; tested for more.\n\n"


def edge_page() -> str:
    """The edge dialect: one row an op, because an op is its schema."""
    rows = (
        (f"`{name}`", op.row.doc, f"`{op.row.text}`", f"`{op.row.out}`" if op.row.out else "")
        for name, op in edge.OPS.items()
    )
    others = "".join(
        op_section(op)
        for op in (
            edge.ConstantOp,
            edge.NoneOp,
            edge.OpaqueOp,
            edge.MutableBufferOp,
            edge.UpdateBufferOp,
            edge.CondOp,
            edge.WhileLoopOp,
        )
    )
    return (
        "# The `edge` dialect\n\n"
        f"{module_docstring(edge)}\n\n## Ops\n\n{table(('op', 'meaning', 'schema', 'kernel'), rows)}{others}"
    )


def dialect_page(name: str) -> str:
    """A dialect whose ops are classes: a section each."""
    dialect: Dialect = DIALECTS[name]()
    text = f"# The `{name}` dialect\n\n{module_docstring(sys.modules[f'xir.dialects.{name}'])}\n\n"
    text += "## Ops\n\n" if dialect.operations else ""
    text += "".join(op_section(op) for op in dialect.operations if issubclass(op, IRDLOperation))
    text += "## Types and attributes\n\n" if dialect.attributes else ""
    for attribute in sorted(dialect.attributes, key=lambda attribute: attribute.name):
        text += f"### `{attribute.name}`\n\n{docstring(attribute)}"
    return text


def kernels_page() -> str:
    """What each edge op becomes outside of a delegate, and who has the kernel."""

    def has(kernel: str | None, names: frozenset[str]) -> str:
        return "yes" if kernel in names else ""

    def becomes(name: str) -> str:
        rule = DECOMPOSITIONS.get(name)
        return " ".join(inspect.cleandoc(rule.__doc__ or "").split()) if rule else ""

    native, stock = portable_kernels(), executorch_kernels()
    named = {op.row.out for op in edge.OPS.values()}
    rows = (
        (f"`{name}`", f"`{out}`" if (out := op.row.out) else "", has(out, native), has(out, stock), becomes(name))
        for name, op in edge.OPS.items()
    )
    return (
        "# Kernels\n\n"
        "An undelegated edge op runs in the kernel of its name, in xir's native runtime and in "
        f"{EXECUTORCH}, or `decompose-for-kernels` decomposes it into the ops of the last column. An op that has "
        "neither runs in Python only, through ATen.\n\n"
        + table(("op", "kernel", "native", EXECUTORCH, "is decomposed to"), rows)
        + f"Kernels of {EXECUTORCH} that the native runtime lacks; programs of other compilers that call them run in "
        f"Python alone: {', '.join(f'`{kernel}`' for kernel in sorted(stock - native))}.\n\n"
        "Native kernels that no op above names, for programs of other compilers and `edge.opaque`: "
        f"{', '.join(f'`{kernel}`' for kernel in sorted(native - stock - named))}.\n"
    )


def module_docstring(module: object) -> str:
    """The docstring of a dialect's module."""
    return inspect.getdoc(module) or ""


def op_section(op: type[IRDLOperation]) -> str:
    """An op: what it is, its syntax, its fields, and how it is written to a file."""
    text = f"### `{op.name}`\n\n{op_text(op)}\n\n"
    if issubclass(op, xnnpack.NodeOp):
        text += f"On the wire: table `{op.WIRE.table}`, {wire_members(op)}\n\n"
    return text


def wire_members(op: type[xnnpack.NodeOp]) -> str:
    """The union members that an op can be, and for the elementwise ops what each kind of them computes."""
    if op not in KINDS:
        return "; ".join(f"union member `{member.name}`, tag {member.tag}" for member in op.WIRE.members.values()) + "."
    rows = (
        (f"`{row.kind}`", row.summary, ", ".join(f"`{name}`" for name in row.edge), f"`{row.member}`", str(row.tag))
        for row in KINDS[op]
    )
    heads = ("kind", "computes", "is exactly", "union member", "tag")
    return "one union member for each kind:\n\n" + table(heads, rows).rstrip()


def commands_page() -> str:
    """What `--help` of each command prints, on a terminal of 100 columns."""
    text = "# Commands\n\n"
    for module in COMMANDS:
        command = [sys.executable, "-m", *module.split(), "--help"]
        printed = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"COLUMNS": "100"}, capture_output=True, text=True, check=True
        ).stdout
        if not printed.startswith("usage: "):
            raise ValueError(f"{' '.join(command)} prints no usage")
        name = printed.removeprefix("usage: ").split(" [")[0]
        text += f"## `{name}`\n\n```text\n{printed.rstrip()}\n```\n\n"
    return text


def operators_page() -> str:
    """What becomes of each ATen op."""
    heads = (
        "ATen op",
        "XNNPACK nodes",
        'nodes with target "xir"',
        "types",
        "static int8",
        "refused when",
        "stock ExecuTorch 1.5",
    )
    return (
        "# Operators\n\n"
        "The lowering of each op of the edge dialect. A *kernel* runs outside the delegate, in portable C++ "
        "([the kernels](kernels.md)) or, in Python, in ATen. The third column lists nodes that only xir's runtime has. "
        "*nothing* means that the op is removed. Any op also stays outside if a tensor has no elements, or more "
        "dimensions than XNNPACK supports. Nodes and types are those that the rules build for their samples "
        "(`transforms/xnnpack/legalizations/samples.py`); `bf16` computes in fp32 between conversions. "
        "[Refusals](refusals.md) has an example of each reason. *static int8* is the form of the op in a statically "
        "quantised program: in integer nodes, in one look-up in 256 entries, as moved integers, or in fp32 inside the "
        "delegate.\n\n" + table(heads, operator_table.rows())
    )


def refusals_page() -> str:
    """Every reason for which an op is not delegated."""
    ops: dict[Refusal, list[str]] = {}
    for name in RULES:
        for refusal in operator_table.refusals_of(name):
            ops.setdefault(refusal, []).append(name)
    text = (
        "# Refusals\n\n"
        "The reasons for which ops stay outside a delegate, or in floating point in a quantised program. Each section "
        "has the reason as remarks print it, with … for parts that depend on the op, the change that would help, and "
        "an example. Remarks also contain messages of a node's verifier and of XNNPACK itself.\n\n"
    )
    for refusal in sorted(REFUSALS, key=lambda refusal: refusal.text.lower()):
        text += f"## {refusal.text}\n\n"
        text += f"What helps: {refusal.hint}.\n\n" if refusal.hint else ""
        names = ", ".join(f"`{name}`" for name in sorted(ops.get(refusal, [])))
        text += f"Refused by the rules of {names}.\n\n" if names else ""
        text += f"```mlir\n{example_text(refusal.example)}\n```\n\n" if refusal.example else ""
    return text


def xnnpack_faults_page() -> str:
    """What XNNPACK is known to compute wrong."""
    text = f"# XNNPACK's known faults\n\n{module_docstring(known_faults)}\n\n"
    text += (
        f"Source files are those of google/XNNPACK at commit `{known_faults.VERSION}`, as in ExecuTorch's wheels.\n\n"
    )
    for fault in known_faults.KNOWN_FAULTS:
        found = f"{inspect.getdoc(fault.sites)}\n\n" if fault.sites else ""
        text += f"## {fault.name}\n\nIn {fault.place}: {fault.wrong}. `{fault.kept_by}` avoids it.\n\n"
        text += f"{found}```mlir\n{fault.smallest.strip()}\n```\n\n"
    heads = ("node", "type", "kernels", "processors", "numbers", "result")
    limits = (
        (f"`{each.node}`", f"`{each.dtype}`", f"`{each.place}`", each.processors, each.numbers, each.gives)
        for each in kernel_limits.KERNEL_LIMITS
    )
    return f"{text}## Kernels\n\n{module_docstring(kernel_limits)}\n\n{table(heads, limits)}"


def annotations_page() -> str:
    """The attributes that passes and the importer note."""
    text = (
        "# Annotations\n\nThe attributes `xir.*` that passes and the importer add to ops and to functions' arguments. "
        "They do not change what a program computes. The verifier refuses unknown names and other types.\n\n"
    )
    for title, known in (("On ops", ON_OPS), ("On arguments", ON_ARGUMENTS), ("On results", ON_RESULTS)):
        rows = ((f"`{name}`", f"`{each.expected}`", each.meaning) for name, each in known.items())
        text += f"## {title}\n\n{table(('attribute', 'value', 'says'), rows)}"
    return text


def example_text(example: Call | str) -> str:
    """The function of an example as text."""
    if isinstance(example, str):
        return example.strip()
    module, _ = example.build(XirContext())
    return "\n".join(module_to_text(function).strip() for function in module.body.block.ops)


def pages() -> dict[Path, str]:
    """Path -> text of every page."""
    makers: dict[str, Callable[[], str]] = {
        "commands.md": commands_page,
        "passes.md": passes_page,
        "kernels.md": kernels_page,
        "composites.md": meanings.page,
        "operators.md": operators_page,
        "refusals.md": refusals_page,
        "xnnpack_faults.md": xnnpack_faults_page,
        "annotations.md": annotations_page,
        "mlir_opt.md": mlir_opt_flags.page,
        "dialects/edge.md": edge_page,
    }
    makers |= {f"dialects/{name}.md": lambda name=name: dialect_page(name) for name in OWN_DIALECTS}
    return {FOLDER / name: HEADER + make().rstrip() + "\n" for name, make in makers.items()}


def main() -> int:
    """Write or check the pages; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    made = pages()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    left_over = [path for path in FOLDER.rglob("*.md") if path not in made and path != MEASURED]
    for path in [*stale, *left_over]:
        name = path.relative_to(ROOT)
        if check:
            print(f"{name} is not up to date: run `make docs`", file=sys.stderr)
        elif path in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
            print(f"wrote {name}")
        else:
            path.unlink()
            print(f"removed {name}")
    return 1 if check and (stale or left_over) else 0


if __name__ == "__main__":
    sys.exit(main())
