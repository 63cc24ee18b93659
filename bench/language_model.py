"""What exporting a language model with random weights takes: time, memory, the size of the file, and loading it.

Memory is sampled in each stage of `xir-llm export`, in a process of its own. It is what the process has for itself,
without pages of files that are mapped, which the system may drop: the model's weights. The first line is what imports
take; the others are beyond that, and the largest of them is held against the file's size.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SIZES: dict[str, dict[str, Any]] = {
    "100M": {"hidden_size": 768, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 12,
             "num_key_value_heads": 4, "vocab_size": 32000},
    "1B": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
           "num_key_value_heads": 8, "vocab_size": 128256},
}  # fmt: skip
"""Llamas whose output layer shares the embedding's weights; the larger one has the sizes of Llama 3.2's."""

PERIOD = 0.01
"""Seconds between two samples."""


def write_model(size: str, folder: Path) -> None:
    """Random weights in bf16."""
    import torch

    from xir.llm.huggingface.checkpoint import import_transformers, quiet

    transformers = import_transformers()
    with quiet():
        config = transformers.LlamaConfig(
            **SIZES[size], max_position_embeddings=2048, tie_word_embeddings=True, bos_token_id=1, eos_token_id=2
        )
        torch.manual_seed(0)
        transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)


def memory(kind: str) -> float:
    """A line of what the system says of this process's memory, such as `RssAnon`, in MB."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError(f"the system does not tell {kind}")


@dataclass
class Stage:
    """What was seen while something ran."""

    seconds: float = 0.0
    own: float = 0.0
    """The most memory, in MB, that the process had for itself."""
    mapped: float = 0.0
    """The most of it in pages of files."""


@dataclass
class Sampler:
    """Watches the memory of this process, stage by stage."""

    stages: dict[str, Stage] = field(default_factory=dict[str, Stage])

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Sample while the body runs."""
        seen = self.stages.setdefault(name, Stage())
        done = threading.Event()

        def watch() -> None:
            while True:
                seen.own, seen.mapped = max(seen.own, memory("RssAnon")), max(seen.mapped, memory("RssFile"))
                if done.wait(PERIOD):
                    return

        thread, start = threading.Thread(target=watch), time.perf_counter()
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            seen.seconds += time.perf_counter() - start


def export(folder: Path, output: Path, quantize: Any, group_size: int) -> None:
    """Export stage by stage, and print what each takes."""
    import torch.export

    from xir import api
    from xir.api import XnnpackPartitioner
    from xir.llm import ExportOptions
    from xir.llm.export import imported
    from xir.llm.huggingface.checkpoint import import_transformers
    from xir.transforms.registry import passes_of

    import_transformers().AutoModelForCausalLM  # noqa: B018

    # What is imported when it is first used: a model of one layer uses it all.
    passes_of("delegate,emit")
    import_module("xir.llm.huggingface.quantization")
    example = torch.nn.Linear(32, 32), (torch.zeros(2, 32),)
    api.to_edge(torch.export.export(*example)).to_backend(XnnpackPartitioner()).to_executorch()
    sampler, before = Sampler(), memory("RssAnon")
    options = ExportOptions(quantize, group_size)
    start = time.perf_counter()
    with sampler.stage("load, quantise, export, import"):
        edge, _ = imported(folder, options)
    with sampler.stage("lower"):
        lowered = edge.to_backend(XnnpackPartitioner(options.target))
    with sampler.stage("plan"):
        program = lowered.to_executorch()
    with sampler.stage("write"), open(output, "wb") as file:
        program.write_to_file(file)
    seconds, size = time.perf_counter() - start, output.stat().st_size / 1e6
    print(f"| imports | | {before:.0f} | |")
    for name, seen in sampler.stages.items():
        print(f"| {name} | {seen.seconds:.1f} s | + {seen.own - before:.0f} | {seen.mapped:.0f} |")
    most = max(seen.own for seen in sampler.stages.values()) - before
    print(f"| all, {size:.0f} MB file | {seconds:.1f} s | + {most:.0f} = {most / size:.2f} x file | |")


def load(path: Path) -> None:
    """Load the file and generate tokens."""
    from xir.llm import Sampling
    from xir.llm import load as load_model

    before, start = memory("RssAnon"), time.perf_counter()
    model = load_model(path, threads=1)
    seconds = time.perf_counter() - start
    loaded = memory("RssAnon")
    answer = model.generate(list(range(3, 35)), Sampling(temperature=0), max_new_tokens=8)
    print(f"| load, one thread | {seconds:.1f} s | + {loaded - before:.0f} | {memory('RssFile'):.0f} |")
    print(f"| prefill {answer.prefill}; decode {answer.decode} | | + {memory('RssAnon') - before:.0f} | |")


def main() -> None:
    """Run each part in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m bench.language_model", description=__doc__)
    parser.add_argument("--size", choices=tuple(SIZES), default="100M", help="how many parameters (default: 100M)")
    parser.add_argument("--quantize", choices=("none", "int8", "int4"), default="int4", help="(default: int4)")
    parser.add_argument("--group-size", type=int, default=32, help="inputs that share a scale (default: 32)")
    parser.add_argument(
        "--folder", type=Path, help="keep the model and the file in this folder, and take them from there"
    )
    parser.add_argument("--part", choices=("write", "export", "load"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder: Path = options.folder or Path(temporary)
        model, output = folder / f"llama-{options.size}", folder / f"llama-{options.size}-{options.quantize}.pte"
        match options.part:
            case "write":
                write_model(options.size, model)
            case "export":
                export(model, output, options.quantize, options.group_size)
            case "load":
                load(output)
            case _:
                print("| stage | time | own memory, MB | mapped, MB |\n|---|---|---|---|", flush=True)
                for part in ("export", "load") if (model / "config.json").exists() else ("write", "export", "load"):
                    arguments = [*sys.argv[1:], "--folder", os.fspath(folder), "--part", part]
                    subprocess.run([sys.executable, "-m", "bench.language_model", *arguments], check=True)


if __name__ == "__main__":
    main()
