"""The flags of `mlir-opt`, and what `xir-opt` does with each: the table of docs/reference/mlir_opt.md.

`python scripts/mlir_opt_flags.py [MLIR_OPT]` (`make mlir-opt`) holds the table against an installed `mlir-opt`: it
names the flags that the table lacks, and runs both tools on the same text. What each writes, read and printed again by
`mlir-opt`, has to be the same.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

VERSION = "22.1.8"
"""Of the `mlir-opt` whose flags are listed."""

SAME, DIFFERENT, ABSENT = "same", "different", "not there"

_NO_BYTECODE = "there is no bytecode: xDSL has none, and text with resources holds all"
_NO_BREAKPOINTS = "actions are logged and counted, and have no breakpoints"
_REGEX = "Python's regular expressions"

FLAGS: dict[str, tuple[str, str]] = {
    "allow-unregistered-dialect": (SAME, ""),
    "color": (ABSENT, "diagnostics have no colours"),
    "dump-pass-pipeline": (DIFFERENT, "on one line, and only options that are not the default"),
    "elide-resource-data-from-bytecode": (ABSENT, _NO_BYTECODE),
    "emit-bytecode": (ABSENT, _NO_BYTECODE),
    "emit-bytecode-version": (ABSENT, _NO_BYTECODE),
    "help": (SAME, ""),
    "irdl-file": (ABSENT, "a dialect from outside is a plugin (docs/extending.md)"),
    "list-passes": (DIFFERENT, "with the options and pipelines too"),
    "load-dialect-plugin": (DIFFERENT, "`--load-plugin` loads dialects and passes alike, from Python"),
    "load-pass-plugin": (DIFFERENT, "`--load-plugin` loads dialects and passes alike, from Python"),
    "log-actions-to": (DIFFERENT, "passes and rewrites, a line each, without threads and breakpoints"),
    "log-mlir-actions-filter": (ABSENT, "the log is text with locations in it"),
    "mlir-debug-counter": (DIFFERENT, "`<pass>-count=N`: the first N rewrites of a pass; there is no `-skip`"),
    "mlir-diagnostic-verbosity-level": (ABSENT, "a diagnostic is as long as it has to be"),
    "mlir-disable-diagnostic-notes": (ABSENT, "notes are few, and part of the diagnostic"),
    "mlir-disable-threading": (ABSENT, "there is one thread"),
    "mlir-elide-elementsattrs-if-larger": (SAME, ""),
    "mlir-elide-resource-strings-if-larger": (SAME, "on a terminal, resources are omitted anyway"),
    "mlir-enable-debugger-hook": (ABSENT, _NO_BREAKPOINTS),
    "mlir-generate-reproducer": (ABSENT, "the input and the command line are already a reproducer"),
    "mlir-output-format": (ABSENT, "timings are text"),
    "mlir-pass-pipeline-crash-reproducer": (DIFFERENT, "always local: the failed pass and its input"),
    "mlir-pass-pipeline-local-reproducer": (DIFFERENT, "the same flag, with a file"),
    "mlir-pass-statistics": (DIFFERENT, "rewrites and operations of each pass"),
    "mlir-pass-statistics-display": (SAME, ""),
    "mlir-pretty-debuginfo": (ABSENT, "`--mlir-print-debuginfo` prints locations in place, without aliases"),
    "mlir-print-debug-counter": (DIFFERENT, "one line for each pass that ran"),
    "mlir-print-debuginfo": (DIFFERENT, "prints locations in place; aliases are read, not written"),
    "mlir-print-elementsattrs-with-hex-if-larger": (ABSENT, "the limit is MLIR's default, 100"),
    "mlir-print-ir-after": (SAME, "several passes may also be separated by commas"),
    "mlir-print-ir-after-all": (SAME, ""),
    "mlir-print-ir-after-change": (SAME, ""),
    "mlir-print-ir-after-failure": (SAME, ""),
    "mlir-print-ir-before": (SAME, "several passes may also be separated by commas"),
    "mlir-print-ir-before-all": (SAME, ""),
    "mlir-print-ir-module-scope": (SAME, "no effect: passes run on the module"),
    "mlir-print-ir-tree-dir": (SAME, ""),
    "mlir-print-local-scope": (ABSENT, "no effect: aliases are never written"),
    "mlir-print-op-generic": (SAME, ""),
    "mlir-print-op-on-diagnostic": (ABSENT, "the line of the source is shown instead"),
    "mlir-print-skip-regions": (ABSENT, "for debuggers"),
    "mlir-print-stacktrace-on-diagnostic": (ABSENT, "a bug has a traceback, a diagnostic needs none"),
    "mlir-print-unique-ssa-ids": (ABSENT, "names are the text's own"),
    "mlir-print-value-users": (ABSENT, "for debuggers"),
    "mlir-timing": (DIFFERENT, "a list in the order of the passes"),
    "mlir-timing-display": (ABSENT, "passes do not nest, so a list is enough"),
    "mlir-use-nameloc-as-prefix": (ABSENT, "names are the text's own, and the importer's are torch's"),
    "mlir-very-unsafe-disable-verifier-on-parsing": (ABSENT, "parsing does not verify; see `--verify-each=false`"),
    "no-implicit-module": (DIFFERENT, "refuses operations outside a module, since passes run on modules"),
    "o": (SAME, "the file appears complete or not at all"),
    "output-split-marker": (DIFFERENT, "the default is the input's marker"),
    "pass-pipeline": (DIFFERENT, "`builtin.module(...)` may be left out; no other op anchors a pipeline"),
    "profile-actions-to": (ABSENT, "`--mlir-timing` has the passes"),
    "remark-format": (DIFFERENT, "also `json`; no `bitstream`; the default depends on the file's name"),
    "remark-policy": (SAME, ""),
    "remarks-filter": (DIFFERENT, "Python's regular expressions; a format or a file without a filter selects all"),
    "remarks-filter-analyse": (DIFFERENT, _REGEX),
    "remarks-filter-failed": (DIFFERENT, _REGEX),
    "remarks-filter-missed": (DIFFERENT, _REGEX),
    "remarks-filter-passed": (DIFFERENT, _REGEX),
    "remarks-output-file": (SAME, "- is standard output"),
    "run-reproducer": (SAME, "only the options `pipeline` and `verify_each` are used"),
    "show-dialects": (SAME, ""),
    "split-input-file": (SAME, ""),
    "verify-diagnostics": (SAME, ""),
    "verify-each": (SAME, ""),
    "verify-roundtrip": (DIFFERENT, "prints custom and generic text; there is no bytecode"),
    "version": (SAME, ""),
}  # fmt: skip
"""Flag -> whether `xir-opt` has it, and why not, or what differs."""

_OF_MLIR = re.compile(
    r"^ {2}--((?:mlir-|remark|verify-(?!region-info)|split-input|load-(?:dialect|pass)|emit-bytecode|log-)[a-z-]+)",
    re.MULTILINE,
)

TEXT = """
func.func @first(%a: i32, %b: tensor<2x?xf32>) -> (i32, i32) {
  %0 = "test.op"(%a) {z = 1 : i32, d = {b, a = "x"}} : (i32) -> i32 loc("x.py":3:4)
  %1 = "test.op"(%a) {c = dense<1.5> : tensor<4096xf32>, e = dense<[1, 2, 3]> : tensor<3xi32>} : (i32) -> i32
  func.return %0, %1 : i32, i32
}
// -----
func.func @second(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "test.op"() {value = dense_resource<here> : tensor<2xf32>} : () -> tensor<2xf32> loc(fused["a", "b":1:2])
  func.return %0 : tensor<2xf32>
}
{-#
  dialect_resources: {
    builtin: {
      here: "0x040000000000803F00000040"
    }
  }
#-}
"""

RUNS: tuple[tuple[str, ...], ...] = (
    (),
    ("--mlir-print-op-generic",),
    ("--mlir-print-debuginfo",),
    ("--mlir-elide-elementsattrs-if-larger=2",),
    ("--mlir-elide-resource-strings-if-larger=4",),
    ("--verify-each=false",),
    ("--verify-diagnostics",),
    ("--verify-roundtrip",),
    ("--cse", "--canonicalize"),
    ("--pass-pipeline=builtin.module(cse,canonicalize)",),
)
"""What both tools are run with, besides `--split-input-file --allow-unregistered-dialect`."""


def page() -> str:
    """The table. ValueError if it is not what `xir-opt` has."""
    from xir.tools.xir_opt_arguments import argument_parser

    has = {flag.lstrip("-") for flag in argument_parser()._option_string_actions}  # pyright: ignore[reportPrivateUsage]
    wrong = [
        flag
        for flag, (kind, _) in FLAGS.items()
        if (kind is SAME and flag not in has) or (kind is ABSENT and flag in has)
    ]
    if wrong:
        raise ValueError(f"scripts/mlir_opt_flags.py is wrong about --{', --'.join(wrong)}")
    rows = "".join(
        f"| `{'-' if len(flag) == 1 else '--'}{flag}` | {kind} | {why} |\n" for flag, (kind, why) in FLAGS.items()
    )
    return (
        f"# The flags of `mlir-opt`\n\nThe flags of MLIR's own driver, version {VERSION}, and how `xir-opt` differs.\n"
        "`make mlir-opt` compares both tools where `mlir-opt` is installed.\n\n"
        f"| flag | in `xir-opt` | what differs, or why |\n|---|---|---|\n{rows}"
    )


def compare(mlir_opt: str) -> int:
    """Hold the table against the tool. Returns the number of differences, each of which is printed."""
    problems = [
        f"the table lacks --{flag}"
        for flag in sorted(set(_OF_MLIR.findall(_output([mlir_opt, "--help"]))) - FLAGS.keys())
    ]
    xir_opt = [sys.executable, "-m", "xir.tools.xir_opt"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.mlir"
        source.write_text(TEXT, encoding="utf-8")
        for flags in RUNS:
            arguments = [str(source), "--split-input-file", "--allow-unregistered-dialect", *flags]
            theirs, ours = (_read_again(mlir_opt, _output([*tool, *arguments])) for tool in ([mlir_opt], xir_opt))
            agree = theirs == ours and "exit code" not in theirs
            print(f"{'same' if agree else 'DIFFERENT'}: {' '.join(flags) or '(no flag)'}")
            if not agree:
                problems.append(f"{' '.join(flags)}:\n--- {mlir_opt}\n{theirs}\n--- xir-opt\n{ours}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return len(problems)


def _read_again(mlir_opt: str, text: str) -> str:
    """The text as `mlir-opt` reads it: values are numbered, and locations are named in one way."""
    flags = [
        "--split-input-file",
        "--allow-unregistered-dialect",
        "--mlir-print-op-generic",
        "--mlir-print-local-scope",
    ]
    flags.append("--mlir-print-debuginfo")
    printed = _output([mlir_opt, "-", *flags], text)
    printed = "\n".join(line for line in printed.splitlines() if line)
    # Where an op is written is no part of what it is.
    return re.sub(r'loc\("(?:-|<stdin>|[^"]*in\.mlir)":\d+:\d+\)', "loc(here)", printed)


def _output(command: Sequence[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr}"


def main() -> int:
    """Compare with the tool that is named or installed. Returns the exit code."""
    names = sys.argv[1:] or [
        name for name in ("mlir-opt", f"mlir-opt-{VERSION.partition('.')[0]}") if shutil.which(name)
    ]
    if not names:
        print("mlir-opt is not installed: Debian's package is mlir-22-tools", file=sys.stderr)
        return 1
    return int(compare(names[0]) > 0)


if __name__ == "__main__":
    sys.exit(main())
