"""`xir-llm`: a language model's folder to a file, and a file to text or its perplexity. `xir.llm` does the work."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xir import __version__
from xir.files import size_text, weights_path
from xir.ir.targets import TARGETS
from xir.tools.command_line import (
    QUANTIZE_WORDS,
    ArgumentParser,
    UsageError,
    add_run_limits,
    collect_garbage_rarely,
    run_limits,
)
from xir.tools.missing_packages import missing_package

if TYPE_CHECKING:
    from xir.llm import Calibration, Generation, LanguageModel, Sampling
    from xir.llm.tokenizer import Message


def main(argv: Sequence[str] | None = None) -> int:
    """Run `xir-llm` with arguments (default: the process's). Returns the exit code: 1 on error, 70 on a bug."""
    from xir.ir.diagnostics import AlreadyReportedError, DiagnosticError
    from xir.llm.errors import LlmError

    if argv is None:
        collect_garbage_rarely()
    try:
        options = argument_parser().parse_args(argv)
        return options.run(options)
    except (UsageError, LlmError) as error:
        sys.stderr.write(f"xir-llm: error: {error}\n")
    except DiagnosticError as error:
        sys.stderr.write(f"{error.diagnostic}\n")
    except AlreadyReportedError:
        pass
    except OSError as error:
        sys.stderr.write(f"xir-llm: error: {error.filename}: {error.strerror}\n")
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130
    except SystemExit as error:
        return int(error.code or 0)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"xir-llm: error: {missing_package(error, 'compiling a model', 'importer', 'llm')}\n")
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-llm", sys.stderr)
    return 1


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="xir-llm",
        description="Compile transformers' language models, and generate text with them.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"xir-llm {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_export(
        commands.add_parser(
            "export", allow_abbrev=False, help="compile a model's folder, or a GGUF file, to a .pte file"
        )
    )
    _add_run(commands.add_parser("run", allow_abbrev=False, help="generate text with a .pte file"))
    _add_perplexity(commands.add_parser("perplexity", allow_abbrev=False, help="how well a .pte file predicts a text"))
    return parser


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compile the model of a Hugging Face folder (config.json, .safetensors), or of a GGUF file, to one .pte file."
    )
    parser.set_defaults(run=_export)
    parser.add_argument(
        "folder", metavar="MODEL", help="the folder with config.json and .safetensors files, or a .gguf file"
    )
    parser.add_argument("-o", dest="output", metavar="FILE", help="the file to write (default: MODEL's name with .pte)")
    parser.add_argument(
        "--quantize", choices=QUANTIZE_WORDS, default="none",
        help="weights in fp32, in 8 bits with a scale for each channel, or in 4 bits with a scale for each group; "
        "ranges of activations are found at run time, so int8 is dynamic, and static is refused (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--quantize-embedding", choices=("none", "int8", "int4"),
        help="embeddings in fp32, in 8 bits with a scale for each row, or in 4 bits with a scale for each group "
        "(default: int8 with --quantize, otherwise none)",
    )  # fmt: skip
    parser.add_argument(
        "--group-size",
        type=int,
        default=32,
        metavar="N",
        help="the number of inputs that share a 4-bit scale (default: 32)",
    )
    parser.add_argument(
        "--calibration", metavar="TEXT",
        help="a text in UTF-8, some thousand words like those that the model will see: with --quantize int4, weights "
        "are rounded to minimise the error of layers' outputs on it; prints the perplexity before and after",
    )  # fmt: skip
    parser.add_argument(
        "--max-bytes", type=int, metavar="N",
        help="with --calibration: give 8 bits to the linear layers that 4 bits hurt most, as long as all weights take "
        "at most N bytes; prints these layers",
    )  # fmt: skip
    parser.add_argument(
        "--tokenizer", metavar="PATH",
        help="with --calibration: the folder with tokenizer.json, or that file (default: MODEL)",
    )  # fmt: skip
    parser.add_argument(
        "--max-seq-len", type=int, metavar="N",
        help="the most tokens of prompt and answer together, which the caches hold (default: the model's positions, up "
        "to 2048)",
    )  # fmt: skip
    parser.add_argument(
        "--prefill-len", type=int, metavar="N",
        help="the most tokens of a prompt that are computed at once; longer prompts are split (default: 512)",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", choices=("fp32", "fp16", "bf16"), default="fp32",
        help="the type of activations, and of weights that are not quantised (default: fp32)",
    )  # fmt: skip
    parser.add_argument(
        "--cache-type", choices=("fp32", "fp16", "bf16", "int8"),
        help="the type of the caches of keys and values; int8 has a scale for each token and head (default: --dtype)",
    )  # fmt: skip
    parser.add_argument(
        "--target", choices=TARGETS, default="executorch",
        help="the runtime that the file is for; a file for executorch (default) runs in both",
    )  # fmt: skip
    parser.add_argument(
        "--weights-apart", action="store_true", help="write the weights to a .ptd file next to FILE, with the same name"
    )


def _export(options: argparse.Namespace) -> int:
    from xir.llm.export import ExportOptions, export
    from xir.llm.model_path import check_model_path
    from xir.tools.model_diagnostics import about

    if options.quantize == "static":
        raise UsageError("ranges of a language model's activations are found at run time: give --quantize int8")
    if options.quantize == "dynamic":
        options.quantize = "int8"
    check_model_path(options.folder)  # before what takes seconds is imported

    source = Path(options.folder).resolve()
    output = options.output or f"{source.stem if source.suffix == '.gguf' else source.name}.pte"
    if options.weights_apart and weights_path(output) == Path(output):
        raise UsageError(f"'{output}' is where --weights-apart puts the weights: name the program .pte")
    chosen = ExportOptions(
        options.quantize,
        options.group_size,
        options.max_seq_len,
        options.prefill_len,
        options.target,
        options.quantize_embedding,
        options.cache_type,
        options.dtype,
        options.max_bytes,
    )
    calibration = _calibration(options)
    with about(options.folder):
        metadata = export(options.folder, output, chosen, weights_apart=options.weights_apart, calibration=calibration)
    if calibration is not None:
        print(calibration)
    size = f"{size_text(Path(output).stat().st_size)}, " if Path(output).is_file() else ""
    if options.weights_apart:
        weights = weights_path(output)
        size += f"with {size_text(weights.stat().st_size)} of weights in {weights}, "
    print(f"{output}: {size}prompt and answer up to {metadata.max_context_len} tokens")
    return 0


def _calibration(options: argparse.Namespace) -> Calibration | None:
    """The text of --calibration."""
    from xir.llm.texts import calibration_of
    from xir.llm.tokenizer import Tokenizer

    if options.calibration is None:
        if options.tokenizer is not None:
            raise UsageError("--tokenizer goes with --calibration")
        if options.max_bytes is not None:
            raise UsageError("--max-bytes goes with --calibration: its text shows which layers 4 bits hurt")
        return None
    if options.quantize != "int4":
        raise UsageError("--calibration goes with --quantize int4: weights of 8 bits are rounded to the nearest")
    return calibration_of(options.calibration, Tokenizer(options.tokenizer or options.folder), options.max_seq_len)


def _add_perplexity(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the perplexity of a text: exp of the mean of -log p, where p is the model's probability of each token "
        "after the tokens before it. A text longer than the file's caches is split into parts."
    )
    parser.set_defaults(run=_perplexity)
    parser.add_argument("file", metavar="FILE", help="a file from `xir-llm export`")
    parser.add_argument("--text", required=True, metavar="TEXT", help="the text, in UTF-8")
    parser.add_argument(
        "--tokenizer", metavar="PATH",
        help="the model's folder, its tokenizer.json or its .gguf file (default: tokenizer.json next to FILE)",
    )  # fmt: skip
    parser.add_argument("--max-tokens", type=int, metavar="N", help="predict only the first N tokens")
    parser.add_argument("--threads", type=int, metavar="N", help="the number of threads (default: one for each core)")


def _perplexity(options: argparse.Namespace) -> int:
    from xir.llm import load
    from xir.llm.perplexity import perplexity
    from xir.llm.texts import read_text

    if options.max_tokens is not None and options.max_tokens < 1:
        raise UsageError(f"--max-tokens must be 1 or more, not {options.max_tokens}")
    text = read_text(options.text)
    model = load(options.file, tokenizer=options.tokenizer, threads=options.threads)
    if model.tokenizer is None:
        raise UsageError(f"no tokenizer.json beside '{options.file}': name the model's folder by --tokenizer")
    found = perplexity(model, text, options.max_tokens)
    print(f"{options.file}: perplexity {found.value:.3f} of {found.tokens} tokens of {options.text}")
    return 0


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Generate text. The answer is streamed to standard output; the speed goes to standard error. Without --prompt, "
        "the prompt is read from standard input; with --chat, each line of it is a turn of one conversation."
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="FILE", help="a file from `xir-llm export`")
    parser.add_argument(
        "--tokenizer", metavar="PATH",
        help="the model's folder, its tokenizer.json or its .gguf file (default: tokenizer.json next to FILE)",
    )  # fmt: skip
    parser.add_argument("--prompt", metavar="TEXT", help="the text to continue")
    parser.add_argument("--chat", action="store_true", help="put the prompt into the model's chat template")
    parser.add_argument("--system", metavar="TEXT", help="with --chat: the system message")
    parser.add_argument(
        "--max-new-tokens",
        type=int,
        metavar="N",
        help="the most tokens of an answer (default: until the caches are full)",
    )
    parser.add_argument(
        "--temperature", type=float, default=0.0, metavar="T",
        help="0 takes the likeliest token, 1 samples from the model's distribution (default: 0)",
    )  # fmt: skip
    parser.add_argument("--top-k", type=int, default=0, metavar="K", help="sample only from the K likeliest tokens")
    parser.add_argument(
        "--top-p", type=float, default=1.0, metavar="P",
        help="sample only from the likeliest tokens whose probabilities add up to P",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="the seed of the samples, to repeat an answer")
    parser.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="end the answer before this text; repeat for more"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="the number of threads (default: one for each core)")
    add_run_limits(parser)


def _run(options: argparse.Namespace) -> int:
    from xir.llm import Sampling, load

    if options.system is not None and not options.chat:
        raise UsageError("--system goes with --chat")
    sampling = Sampling(options.temperature, options.top_k, options.top_p, options.seed)
    model = load(options.file, tokenizer=options.tokenizer, threads=options.threads, **run_limits(options))
    if model.tokenizer is None:
        raise UsageError(f"no tokenizer.json beside '{options.file}': name the model's folder by --tokenizer")
    if not options.chat:
        prompt = sys.stdin.read() if options.prompt is None else options.prompt
        _answer(model, prompt, sampling, options)
        return 0
    conversation: list[Message] = []
    if options.system is not None:
        conversation.append({"role": "system", "content": options.system})
    for turn in sys.stdin if options.prompt is None else [options.prompt]:
        conversation.append({"role": "user", "content": turn.rstrip("\n")})
        answer = _answer(model, conversation, sampling, options)
        conversation.append({"role": "assistant", "content": answer.text})
    return 0


def _answer(
    model: LanguageModel, prompt: str | list[Message], sampling: Sampling, options: argparse.Namespace
) -> Generation:
    """Print an answer as it comes, and how fast it came."""
    pieces = model.stream(prompt, sampling, max_new_tokens=options.max_new_tokens, stop=options.stop)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()
    found = pieces.generation
    sys.stderr.write(f"prefill: {found.prefill}\ndecode: {found.decode}\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
