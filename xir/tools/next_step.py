"""What to run next where a program is found wrong: the command line of `xir-bisect`."""

from __future__ import annotations

import argparse
import shlex

from xir.plugin_loading import named


def bisect_command(program: str, pipeline: str = "", quantize: str | None = None) -> str:
    """The command that names the rewrite of a wrong pass and reduces the program; without a pipeline, the default."""
    words = ["xir-bisect", program]
    words += [pipeline] if pipeline else []
    words += ["--quantize", quantize] if quantize else []
    words += [f"--load-plugin={plugin}" for plugin in named]
    return shlex.join(words)


def after_compiling(options: argparse.Namespace) -> str:
    """What to run behind `xir-aot`, with its options, in words."""
    program = options.model_name or options.pt2 or "net.pt2"
    pipeline = "" if options.delegate else "emit"
    command = bisect_command(program, pipeline, options.quantize)
    if program != "net.pt2" or options.pt2:
        return f"run {command}"
    return f"save the model by torch.export.save(torch.export.export(model, inputs), 'net.pt2') and run {command}"
