"""What `xir.llm` and `xir-llm` make of prompts, options and files that are not what they have to be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from llm.tiny_models import write_family

import xir
from xir.llm import ExportOptions, LlmError, Sampling, Tokenizer, export, load
from xir.llm.generation import Speed, _Text  # pyright: ignore[reportPrivateUsage]
from xir.llm.sampling import Sampler
from xir.llm.tiny import ANSWER, BEGIN, QUESTION, TEXT, write_tokenizer
from xir.llm.tokenizer import TextStream
from xir.tools.xir_llm import main

GOLDEN = Path(__file__).parents[1] / "emitter" / "golden"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model.pte`, which knows nothing, and a tokenizer of more tokens than it has."""
    folder = tmp_path_factory.mktemp("model")
    write_family("Llama", folder)
    export(folder, folder / "model.pte", ExportOptions(max_seq_len=16, prefill_len=8))
    write_tokenizer(folder)
    return folder


@pytest.fixture
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer(folder)


def text_of(*pieces: str, stop: tuple[str, ...]) -> tuple[list[str], bool]:
    """What comes out of pieces of text, and whether a text that ends answers was among them."""
    arriving = iter(pieces)
    text = _Text(SimpleNamespace(add=lambda _: next(arriving)), stop)  # pyright: ignore[reportArgumentType]
    found: list[str] = []
    for _ in pieces:
        found.append(text.add(0))
        if text.stopped:
            return found, True
    return [*found, text.rest()], False


@pytest.mark.parametrize(
    ("pieces", "stop", "wanted", "stopped"),
    [
        (("one ", "two"), (), ["one ", "two", ""], False),
        (("one ", "two"), ("two",), ["one ", ""], True),
        (("one t", "wo"), ("two",), ["one ", ""], True),
        (("one t", "hree"), ("two",), ["one ", "three", ""], False),
        (("one tw",), ("two",), ["one ", "tw"], False),
        (("a b c",), ("c", "b"), ["a "], True),
        (("aab",), ("ab",), ["a"], True),
    ],
)
def test_texts_that_end_answers(
    pieces: tuple[str, ...], stop: tuple[str, ...], wanted: list[str], stopped: bool
) -> None:
    assert text_of(*pieces, stop=stop) == (wanted, stopped)


def drawn(sampling: Sampling, logits: list[float], count: int = 2000) -> np.ndarray:
    """How often each token is drawn, of 1."""
    sampler = Sampler(sampling)
    tokens = [sampler(np.array(logits, np.float32)) for _ in range(count)]
    return np.bincount(tokens, minlength=len(logits)) / count


def test_sampling_draws_as_the_model_says() -> None:
    logits = [0.0, 2.0, 1.0, -1.0]
    odds = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(drawn(Sampling(1.0, seed=3), logits), odds, atol=0.04)
    flatter = np.exp(np.divide(logits, 2)) / np.exp(np.divide(logits, 2)).sum()
    np.testing.assert_allclose(drawn(Sampling(2.0, seed=3), logits), flatter, atol=0.04)
    np.testing.assert_array_equal(drawn(Sampling(), logits, 10), [0, 1, 0, 0])


def test_unlikely_tokens_are_left_out() -> None:
    logits = [0.0, 2.0, 1.0, -1.0]  # 8.7, 64.4, 23.7 and 3.2 percent
    two = np.array([0, np.e, 1, 0]) / (np.e + 1)
    np.testing.assert_allclose(drawn(Sampling(1.0, top_k=2, seed=1), logits), two, atol=0.04)
    np.testing.assert_allclose(drawn(Sampling(1.0, top_p=0.7, seed=1), logits), two, atol=0.04)
    np.testing.assert_array_equal(drawn(Sampling(1.0, top_p=0.6, seed=1), logits, 50), [0, 1, 0, 0])
    np.testing.assert_array_equal(drawn(Sampling(1.0, top_k=3, top_p=0.6, seed=1), logits, 50), [0, 1, 0, 0])


def test_a_seed_draws_the_same_again() -> None:
    logits = list(np.linspace(0, 1, 50))
    first, second, other = (drawn(Sampling(1.0, seed=seed), logits, 100) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"temperature": -1.0}, "temperature must be 0 or more, not -1.0"),
        ({"temperature": float("nan")}, "temperature must be 0 or more, not nan"),
        ({"top_k": -1}, "top-k must be 0 .all tokens. or more, not -1"),
        ({"top_p": 0.0}, "top-p must be above 0 and at most 1, not 0.0"),
        ({"seed": -1}, "the seed must be 0 or more, not -1"),
    ],
)
def test_sampling_that_means_nothing(options: dict[str, Any], error: str) -> None:
    with pytest.raises(LlmError, match=error):
        Sampling(**options)


def test_logits_that_are_not_finite() -> None:
    with pytest.raises(LlmError, match="infinite or NaN"):
        Sampler(Sampling())(np.array([0, np.nan], np.float32))


def test_text_streams_by_whole_characters(tokenizer: Tokenizer) -> None:
    """Characters that the tokenizer has never seen are several tokens each."""
    text = f"{TEXT} Grüße, 你好 🙂"
    tokens = tokenizer.encode(text)
    stream: TextStream = tokenizer.text_stream()
    pieces = [stream.add(token) for token in tokens]
    assert "".join(pieces) == text == tokenizer.decode(tokens)
    assert "" in pieces


def test_conversations_go_through_the_template(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.chat(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": ANSWER},
            {"role": "user", "content": "Why?"},
        ]
    )
    text = f"{BEGIN}<|system|>Be brief.<|user|>{QUESTION}<|assistant|>{ANSWER}<|end|><|user|>Why?<|assistant|>"
    assert tokens == tokenizer.encode(text, special=False)
    assert tokens.count(tokenizer.encode("")[0]) == 1


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{{ raise_exception('no system message, please') }}", "the chat template fails: no system message, please"),
        ("{% if %}", "the chat template fails: Expected an expression"),
        ("{{ ''.__class__.__mro__ }}", "the chat template fails: access to attribute '__class__'"),
    ],
)
def test_templates_that_fail(folder: Path, tmp_path: Path, template: str, error: str) -> None:
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (tmp_path / "chat_template.jinja").write_text(template, encoding="utf-8")
    with pytest.raises(LlmError, match=error):
        Tokenizer(tmp_path).chat([{"role": "user", "content": "?"}])


def test_answers_end_where_the_caches_are_full(folder: Path) -> None:
    model = load(folder / "model.pte", tokenizer=None, threads=1)
    answer = model.generate([1, 2, 3, 4], max_new_tokens=100)
    assert len(answer.prompt) + len(answer.tokens) == model.metadata.max_context_len == 16 or answer.reason == "stop"
    assert len(model.generate([1, 2, 3, 4], max_new_tokens=1).tokens) <= 1


@pytest.mark.parametrize(
    ("prompt", "options", "error"),
    [
        ([], {}, "the prompt is empty"),
        (list(range(16)), {}, "the prompt has 16 tokens, and the file's caches hold 16, the answer included"),
        ([160], {}, "token 160 is outside of the vocabulary of 160"),
        ([1], {"max_new_tokens": 0}, "max-new-tokens must be 1 or more, not 0"),
    ],
)
def test_prompts_that_do_not_fit(folder: Path, prompt: list[int], options: dict[str, Any], error: str) -> None:
    model = load(folder / "model.pte", threads=1)
    with pytest.raises(LlmError, match=error):
        model.generate(prompt, **options)


def test_texts_need_a_tokenizer(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.pte"
    alone.write_bytes((folder / "model.pte").read_bytes())
    model = load(alone, threads=1)
    with pytest.raises(LlmError, match="a text needs a tokenizer"):
        model.generate("text")
    with pytest.raises(LlmError, match="texts to stop at need a tokenizer"):
        model.generate([1], stop=["text"])


def run(*arguments: str | Path) -> int:
    return main([str(each) for each in arguments])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["export", "nowhere"], r"nowhere: no config.json: a folder of Hugging Face's"),
        (["export", "bare"], r"bare: no .safetensors file: weights in other formats are not read"),
        (["export", "cut"], r"cut: "),
        (["export", "other"], r"other: "),
        (["export", "long", "--max-seq-len", "500"], "the model knows 128 positions: give --max-seq-len 128 or less$"),
        (["export", "long", "--max-seq-len", "1"], "max-seq-len must be 2 or more, not 1"),
        (["export", "long", "--prefill-len", "4000"], "prefill-len must be at most 128, which the caches hold"),
        (["export", "long", "--group-size", "20"], "the group size must be a multiple of 32, not 20"),
        (["export", "long", "--max-seq-len=9", "--quantize=int4", "--group-size=64"], ".* 96 inputs, no multiple"),
        (["export", "long", "--quantise", "int4"], "unrecognized arguments: --quantise int4"),
        (["run", "none.pte", "--prompt", "x"], ".*none.pte"),
        (["run", "add.pte", "--prompt", "x"], "add.pte: no method 'prefill': this is no file of `xir-llm export`"),
        (["run", "model.pte", "--prompt", "x"], "no tokenizer.json beside 'model.pte': name the model's folder by "),
        (["run", "model.pte", "--prompt", "x", "--tokenizer", "nowhere"], "nowhere: there is no such file; "),
        (["run", "model.pte", "--prompt", "x", "--tokenizer", "bad.json"], "bad.json: "),
        (["run", "model.pte", "--prompt", "x", "--system", "y"], "--system goes with --chat"),
        (["run", "model.pte", "--prompt", "x", "--max-seconds", "-1"], "--max-seconds must be at least 0, not -1"),
        (["run", "model.pte", "--prompt", "compiler", "--tokenizer", "long"], "token 2.. is outside of the vocab"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    folder: Path,
    arguments: list[str],
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("bare", "cut", "other"):
        Path(name).mkdir()
        Path(name, "config.json").write_bytes((folder / "config.json").read_bytes())
    weights = (folder / "model.safetensors").read_bytes()
    Path("cut", "model.safetensors").write_bytes(weights[: len(weights) // 2])
    Path("other", "model.safetensors").write_bytes(weights)
    Path("other", "config.json").write_text(json.dumps({"model_type": "vit"}), encoding="utf-8")
    Path("long").symlink_to(folder)
    Path("model.pte").write_bytes((folder / "model.pte").read_bytes())
    Path("bad.json").write_text("{", encoding="utf-8")
    Path("add.pte").write_bytes(b64decode((GOLDEN / "xir-0.1.0-mixed.pte.base64").read_bytes()))
    assert run(*arguments) == 1
    found = capfd.readouterr()
    assert found.out == ""
    line, rest = found.err.split("\n", 1)
    assert rest == ""
    assert re.match(f"xir-llm: error: {error}", line), line
    assert not [path for path in Path().glob("*.pte") if path.name not in ("model.pte", "add.pte")]


def test_weights_apart(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, weights = tmp_path / "apart.pte", tmp_path / "apart.ptd"
    options = ["--max-seq-len", "16", "--prefill-len", "8", "-o", str(file)]
    assert main(["export", str(folder), *options, "--weights-apart"]) == 0
    assert f"of weights in {weights}" in capsys.readouterr().out
    assert file.stat().st_size < weights.stat().st_size
    prompt = [1, 2, 3]
    expected = load(folder / "model.pte").generate(prompt).tokens
    assert load(file).generate(prompt).tokens == expected
    # Weights that an earlier export has left do not disturb one of the same model as a whole.
    apart = file.read_bytes()
    file.write_bytes((folder / "model.pte").read_bytes())
    assert load(file).generate(prompt).tokens == expected
    file.write_bytes(apart)
    weights.unlink()
    with pytest.raises(LlmError, match=re.escape(f"its weights are apart, and there is no '{weights}'")):
        load(file)
    assert main(["export", str(folder), "--weights-apart", "-o", str(weights)]) == 1
    assert "name the program .pte" in capsys.readouterr().err
    assert not weights.exists()


def test_limits_of_a_run_reach_the_runtime(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = folder / "model.pte"
    arguments = ["run", file, "--tokenizer", folder, "--prompt", "", "--max-new-tokens", "2"]
    assert run(*arguments, "--max-seconds", "60", "--allow-ops", "mylib,other::op") == 0
    capfd.readouterr()
    assert run(*arguments, "--max-seconds", "1e-9") == 1
    assert re.fullmatch(r"xir-llm: error: .*stopped after 1e-09 seconds.*\n", capfd.readouterr().err)
    assert len(load(file, max_seconds=60.0, allow_ops=["mylib"]).generate([1, 2], max_new_tokens=2).tokens) == 2
    # An operator that the model calls and that xir does not know, in the place of one of its kernels.
    foreign = tmp_path / "foreign.pte"
    content = file.read_bytes()
    assert b"aten::embedding" in content
    foreign.write_bytes(content.replace(b"aten::embedding", b"mine::embedding"))
    assert run("run", foreign, *arguments[2:]) == 1
    assert "calls 'mine::embedding.out', which xir does not know" in capfd.readouterr().err
    assert run("run", foreign, *arguments[2:], "--allow-ops", "mine") == 1
    assert "there is no kernel for 'mine::embedding.out'" in capfd.readouterr().err


def test_running_needs_no_torch(folder: Path) -> None:
    program = (
        "import sys\nfrom xir.tools.xir_llm import main\n"
        f"code = main(['run', {str(folder / 'model.pte')!r}, '--tokenizer', {str(folder)!r}, '--prompt', ''])\n"
        "assert code == 0\nassert not {'torch', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(Path(xir.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", ["transformers", "tokenizers"])
def test_a_missing_package_is_one_line(
    package: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    arguments = ["export", folder] if package == "transformers" else ["run", folder / "model.pte", "--prompt", "x"]
    assert run(*arguments, *(["--max-seq-len", "16"] if package == "transformers" else [])) == 1
    needed = "compiling a model needs xir[importer,llm]" if package == "transformers" else "this needs xir[llm]"
    assert capfd.readouterr().err == f"xir-llm: error: '{package}' is not installed: {needed}\n"


def test_speed_is_told() -> None:
    assert str(Speed(10, 2.0)) == "10 tokens in 2.00 s, 5.0 tokens/s"
    assert str(Speed(0, 0.0)) == "0 tokens in 0.00 s, - tokens/s"
