"""4-bit weights rounded for a text, and what is said of perplexity."""

# pyright: reportPrivateUsage=false
# How embeddings are looked up meanwhile is nobody else's business.

from __future__ import annotations

import math
import re
import shutil
from copy import deepcopy
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from llm.tiny_models import TWO_LAYERS, write_family
from torch import nn

from xir.llm import ExportOptions, LlmError, Tokenizer, calibration_of, export, load, perplexity
from xir.llm.huggingface import calibration
from xir.llm.huggingface.calibration import perplexity_of
from xir.llm.huggingface.quantization import Int4Weight, QuantizedLinear, _looking_up_rows, quantize
from xir.llm.huggingface.sensitivity import divergences, layers_to_keep
from xir.llm.texts import HELD_OUT, LENGTH, PIECES, Calibration
from xir.llm.tiny import TEXT, write_tokenizer
from xir.quantizer import activation_aware
from xir.quantizer.compensation import compensated
from xir.tools.xir_llm import main

two_layers = partial(write_family, **TWO_LAYERS)
"""A family's model of which the second layer reads what the first, already rounded, computes."""
FAMILIES = ["Llama", "Qwen2", "Gemma3Text", "GPTNeoX"]
"""Output layers that share the embedding's weights, biases, two kinds of attention, other names of layers."""


def texts(count: int, length: int, seed: int = 0) -> list[list[int]]:
    """Tokens of which some are far likelier than others, as in texts."""
    generator = torch.Generator().manual_seed(seed)
    likely = torch.distributions.Dirichlet(torch.full((160,), 0.1))
    with torch.random.fork_rng():
        torch.manual_seed(5)
        probabilities = likely.sample()
    return torch.multinomial(probabilities.expand(count, -1), length, True, generator=generator).tolist()


@torch.no_grad()
def noise(model: Any, exact: Any, tokens: list[list[int]]) -> float:
    found, wanted = (each(input_ids=torch.tensor(tokens)).logits for each in (model, exact))
    return float((found - wanted).square().sum() / wanted.square().sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_nearer(family: str, tmp_path: Path) -> None:
    """On texts that were not seen, in as many bytes."""
    model = two_layers(family, tmp_path)
    plain, rounded = deepcopy(model), deepcopy(model)
    quantize(plain, "int4", 32, "none")
    quantize(rounded, "int4", 32, "none", texts=texts(8, 48))
    other = texts(4, 48, seed=1)
    assert noise(rounded, model, other) < 0.75 * noise(plain, model, other)
    shapes = [
        {name: (value.shape, value.dtype) for name, value in each.state_dict().items()} for each in (plain, rounded)
    ]
    assert shapes[0] == shapes[1]
    weights = [each for each in rounded.modules() if isinstance(each, Int4Weight)]
    assert len(weights) >= 8
    assert all(each.scales.dtype == torch.bfloat16 for each in weights)


@pytest.mark.parametrize("family", ["Llama", "GPTNeoX", "Gemma3Text"])
def test_norms_are_scaled_where_they_multiply_by_their_weight(family: str, tmp_path: Path) -> None:
    """Gemma's multiply by 1 + weight, and stay. So does the last one, which the output layer in 8 bits reads."""
    model = two_layers(family, tmp_path)
    for name, value in model.named_parameters():
        value.data[..., ::16] *= 8 if name.endswith("norm.weight") else 1
    norms = {name: value.clone() for name, value in model.named_parameters() if name.endswith("norm.weight")}
    quantize(model, "int4", 32, texts=texts(4, 48))
    changed = {name for name, value in norms.items() if not torch.equal(value, model.get_parameter(name))}
    blocks = {name for name in norms if "layers." in name and "query" not in name and "key" not in name}
    assert changed == (blocks if family != "Gemma3Text" else set())


def test_other_types_of_weights(tmp_path: Path) -> None:
    """Of bf16, calibrated in fp32; activations are then of the type asked for."""
    model = two_layers("Llama", tmp_path, tie_word_embeddings=False).bfloat16()
    quantize(model, "int4", 32, "int8", torch.bfloat16, texts(2, 32))
    assert {each.dtype for each in model.parameters()} == {torch.bfloat16}
    with torch.no_grad():
        assert model(input_ids=torch.tensor(texts(1, 8))).logits.dtype == torch.bfloat16


def test_what_texts_do_not_reach_is_rounded_to_the_nearest(tmp_path: Path) -> None:
    model: Any = two_layers("Llama", tmp_path)
    model.spare = nn.Linear(64, 8)
    wanted = Int4Weight.nearest(model.spare.weight, 32)
    quantize(model, "int4", 32, texts=texts(2, 32))
    assert torch.equal(model.get_submodule("spare").quantized.packed, wanted.packed)


def test_weights_are_given_up_as_they_are_rounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, beside their integers, they would take too much memory."""
    model = two_layers("Llama", tmp_path, tie_word_embeddings=False)
    left: list[int] = []

    def noting(*given: Any) -> Any:
        left.append(sum(each.numel() for each in model.parameters()))
        return compensated(*given)

    monkeypatch.setattr(calibration, "compensated", noting)
    sizes = [each.weight.numel() for each in model.modules() if isinstance(each, nn.Linear)]
    quantize(model, "int4", 32, texts=texts(2, 32))
    assert sorted(before - after for before, after in pairwise(left)) == sorted(sizes[:-1])


def test_a_table_stays_whose_weight_is_rounded_for_a_layer(tmp_path: Path) -> None:
    model = two_layers("Llama", tmp_path, tie_word_embeddings=True)
    table = model.get_input_embeddings().weight.detach().clone()
    quantize(model, "int4", 32, "none", texts=texts(2, 32))
    assert torch.equal(model.get_input_embeddings().weight, table)
    assert isinstance(model.get_output_embeddings(), QuantizedLinear)


def test_layers_behind_scaled_norms_read_what_they_would_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Factors change no result: what the feed-forward blocks' last layers read is as large as before."""
    model = two_layers("Llama", tmp_path)
    for name, value in model.named_parameters():
        value.data[..., ::16] *= 8 if name.endswith("norm.weight") else 1
    last = model.model.layers[0].mlp.down_proj.weight.shape
    powers: list[list[float]] = []

    def noting(weight: Any, moments: Any, *given: Any) -> Any:
        if weight.shape == last:
            powers[-1].append(float(moments.trace()))
        return compensated(weight, moments, *given)

    monkeypatch.setattr(calibration, "compensated", noting)
    for strengths in ((0.5,), ()):
        monkeypatch.setattr(activation_aware, "STRENGTHS", strengths)
        powers.append([])
        quantize(deepcopy(model), "int4", 32, texts=texts(4, 48))
    assert len(powers[0]) == 2
    assert powers[0] == pytest.approx(powers[1], rel=0.1)


def test_a_weight_that_a_third_part_of_the_model_has_too_is_not_given_up(tmp_path: Path) -> None:
    """Beside the embedding and the output layer, whose table it is."""
    model: Any = two_layers("Llama", tmp_path, tie_word_embeddings=True)
    table = model.get_input_embeddings().weight
    model.also = nn.ParameterList([table])
    wanted = table.detach().clone()
    quantize(model, "int4", 32, texts=texts(2, 32))
    assert torch.equal(model.also[0], wanted)
    assert isinstance(model.get_output_embeddings(), QuantizedLinear)


def test_groups_that_do_not_divide(tmp_path: Path) -> None:
    model = two_layers("Llama", tmp_path)
    with pytest.raises(LlmError, match="has 96 inputs, no multiple of the group size 64: --group-size 32 or 96 "):
        quantize(model, "int4", 64, texts=texts(2, 32))
    model = two_layers("Llama", tmp_path, hidden_size=80, num_attention_heads=5, num_key_value_heads=1)
    with pytest.raises(LlmError, match="has 80 inputs, no multiple of the group size 32: give --quantize int8"):
        quantize(model, "int4", 32, texts=texts(2, 32))


def with_rounded(model: Any, path: str) -> Any:
    """A copy in which one layer alone has a weight of 4 bits."""
    found = deepcopy(model)
    layer = found.get_submodule(path)
    layer.weight.data = Int4Weight.nearest(layer.weight, 32)()
    return found


def test_the_estimated_divergence_is_the_measured_one(tmp_path: Path) -> None:
    """Within a factor of three, all together of 1.5, for errors of tokens add up in averages; the worst layers are
    found."""
    model: Any = two_layers("Llama", tmp_path)
    layers = {path: each for path, each in model.named_modules() if isinstance(each, nn.Linear) and path != "lm_head"}
    rounded = {path: Int4Weight.nearest(each.weight, 32) for path, each in layers.items()}
    seen = texts(8, 64)
    found = divergences(model, layers, rounded, seen)

    @torch.no_grad()
    def answers(model: Any) -> torch.Tensor:
        return model(input_ids=torch.tensor(seen)).logits.double().log_softmax(-1)

    exact = answers(model)
    measured = {
        path: float((exact.exp() * (exact - answers(with_rounded(model, path)))).sum(-1).mean()) for path in layers
    }
    assert set(found) == set(layers)
    for path, value in measured.items():
        assert value / 3 < found[path] < value * 3, path
    assert 1 / 1.5 < sum(found.values()) / sum(measured.values()) < 1.5
    ranks = torch.tensor([[sorted(each.values()).index(each[path]) for path in layers] for each in (found, measured)])
    assert float(torch.corrcoef(ranks.double())[0, 1]) > 0.8
    assert all(each.requires_grad for each in model.parameters())
    assert all(each.grad is None for each in model.parameters())
    assert not any(each._forward_hooks for each in model.modules())


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_rows_that_are_looked_up_are_those_of_the_table(mode: Literal["int8", "int4"]) -> None:
    """Bit for bit; and the embedding is left as compilers know it."""
    model = nn.Module()
    model.table = nn.Embedding(50, 64)
    quantize(model, "none", 32, mode)
    table: Any = model.table
    tokens = torch.tensor([[3, 49, 0], [7, 7, 21]])
    assert not table.by_rows
    plain = table(tokens)
    with _looking_up_rows(model):
        assert table.by_rows
        assert torch.equal(table(tokens), plain)
    assert not table.by_rows


def test_layers_for_a_budget() -> None:
    """Those of the most gain for a byte come first; what is too large is passed over, what gains nothing left out."""
    costs, gains = {"a": 100, "b": 10, "c": 1000, "d": 50}, {"a": 1.0, "b": 0.5, "c": 90.0, "d": 0.0}
    assert layers_to_keep(costs, gains, 115) == ["b", "a"]
    assert layers_to_keep(costs, gains, 5000) == ["c", "b", "a"]
    assert layers_to_keep(costs, gains, 9) == []


def stored_bytes(model: nn.Module) -> int:
    """What a file has of a quantised model: each tensor once, and no zero points, which are 0."""
    tensors = {name: each for name, each in model.state_dict().items() if not name.endswith("zero_points")}
    return sum(each.nbytes for each in {each.data_ptr(): each for each in tensors.values()}.values())


@pytest.mark.parametrize("tied", [pytest.param(True, marks=pytest.mark.exhaustive), False])
def test_bytes_are_spent_where_they_help(tied: bool, tmp_path: Path) -> None:
    """No more than allowed, and on other texts the answers are nearer the more there are."""
    model = two_layers("Llama", tmp_path, tie_word_embeddings=tied)

    def quantized(max_bytes: int | None) -> tuple[Any, list[str]]:
        found = deepcopy(model)
        return found, quantize(found, "int4", 32, texts=texts(8, 48), max_bytes=max_bytes)

    def chosen(max_bytes: int) -> list[str]:
        return quantize(deepcopy(model), "int4", 32, texts=texts(1, 16), max_bytes=max_bytes)

    narrow, none = quantized(None)
    least = stored_bytes(narrow)
    assert none == []
    some, few = quantized(least + 8_000)
    every, all_layers = quantized(10**9)
    assert least < stored_bytes(some) <= least + 8_000
    assert 0 < len(few) < len(all_layers)
    assert {path for path, each in every.named_modules() if isinstance(each, QuantizedLinear)} - {"lm_head"} <= set(
        all_layers
    )
    assert not any(isinstance(each, Int4Weight) for each in every.modules())
    other = texts(4, 48, seed=1)
    assert noise(every, model, other) < noise(some, model, other) < 0.9 * noise(narrow, model, other)
    assert chosen(least) == []
    most = stored_bytes(every)
    assert (len(chosen(most)), len(chosen(most - 1))) == (len(all_layers), len(all_layers) - 1)
    with pytest.raises(LlmError, match=f"weights take {least:,} bytes in 4 bits: give --max-bytes {least} or more"):
        quantized(least - 1)


def test_bytes_of_parameters_in_16_bits(tmp_path: Path) -> None:
    """Those that are not quantised."""
    model = two_layers("Llama", tmp_path)

    def quantized(max_bytes: int | None) -> nn.Module:
        found = deepcopy(model)
        quantize(found, "int4", 32, dtype=torch.bfloat16, texts=texts(2, 32), max_bytes=max_bytes)
        return found

    least = stored_bytes(quantized(None))
    assert stored_bytes(quantized(least)) == least
    with pytest.raises(LlmError, match=f"give --max-bytes {least} or more"):
        quantized(least - 1)


@pytest.fixture(name="written", scope="module")
def fixture_written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, its tokenizer, its file `net.pte` and a text, to be copied."""
    folder = tmp_path_factory.mktemp("written")
    tokenizer = write_tokenizer(folder)
    two_layers("Llama", folder, vocab_size=tokenizer.get_vocab_size())
    export(folder, folder / "net.pte", ExportOptions(max_seq_len=32))
    (folder / "long.txt").write_text("\n".join([TEXT, TEXT.upper(), TEXT[::-1]] * 2), encoding="utf-8")
    return folder


@pytest.fixture(name="folder")
def fixture_folder(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path / "model")


def test_the_command_says_what_it_costs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both perplexities are what transformers makes of the pieces held out, and the file has the rounded weights."""
    output = folder / "net.pte"
    arguments = ["export", str(folder), "-o", str(output), "--quantize", "int4", "--max-seq-len", "64"]
    assert main([*arguments, "--calibration", str(folder / "long.txt")]) == 0
    said = re.match(r"perplexity ([\d.]+) before, ([\d.]+) after \(([+-][\d.]+) %\), on (\d+)", capsys.readouterr().out)
    assert said is not None
    parts = calibration_of(folder / "long.txt", Tokenizer(folder), 64)
    model = two_layers("Llama", folder, vocab_size=Tokenizer(folder).vocab_size)
    before = perplexity_of(model, parts.held_out)
    quantize(model, "int4", 32, texts=parts.seen)
    after = perplexity_of(model, parts.held_out)
    assert [float(said[1]), float(said[2])] == pytest.approx([before, after], abs=0.01)
    assert float(said[3]) == pytest.approx(100 * (after / before - 1), abs=0.1)
    found = perplexity(load(output, threads=1), parts.held_out[0])
    assert found.value == pytest.approx(perplexity_of(model, parts.held_out[:1]), rel=1e-2)


def test_where_bytes_may_not_be_bounded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed where they may is an example of docs/llm.md."""
    arguments = ["export", str(folder), "-o", str(folder / "net.pte"), "--max-seq-len", "64", "--max-bytes", "9999999"]
    calibration = ["--calibration", str(folder / "long.txt")]
    for others, message in (
        (["--quantize", "int4"], "--max-bytes goes with --calibration"),
        (["--quantize", "int8"], "--max-bytes goes with --calibration"),
        (["--quantize", "int8", *calibration], "--calibration goes with --quantize int4"),
    ):
        assert main([*arguments, *others]) == 1
        assert message in capsys.readouterr().err
    with pytest.raises(LlmError, match="goes with quantize int4 and a calibration text"):
        export(folder, folder / "net.pte", ExportOptions("int4", max_bytes=10**9))


def test_perplexity_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That of transformers' loss, in parts as long as the caches."""
    model: Any = two_layers("Llama", folder, vocab_size=Tokenizer(folder).vocab_size)
    tokens = Tokenizer(folder).encode(TEXT * 2)[:70]
    with torch.no_grad():
        lost = [
            float(model(input_ids=part, labels=part).loss) * (part.shape[1] - 1)
            for part in torch.tensor([tokens]).split(32, 1)
        ]
    found = perplexity(load(folder / "net.pte", threads=1), tokens)
    assert (len(tokens), found.tokens) == (70, 67)
    assert found.value == pytest.approx(math.exp(sum(lost) / 67), rel=1e-4)
    (folder / "text.txt").write_text(TEXT * 2, encoding="utf-8")
    command = ["perplexity", str(folder / "net.pte"), "--text", str(folder / "text.txt"), "--max-tokens", "5"]
    assert main(command) == 0
    first = perplexity(load(folder / "net.pte", threads=1), tokens[:6])
    assert f"perplexity {first.value:.3f} of 5 tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"too short", ["--quantize", "int4"], "a text of 64 tokens or more, better of thousands; this one has"),
        (b"\xff\xfe" * 40, ["--quantize", "int4"], "no text in UTF-8: invalid start byte at byte 0"),
        (b"word " * 99, ["--quantize", "int8"], "--calibration goes with --quantize int4"),
        (b"word " * 99, ["--quantize", "dynamic"], "--calibration goes with --quantize int4"),
        (b"word " * 99, ["--quantize", "static"], "found at run time: give --quantize int8"),
        (None, ["--quantize", "int4"], "text.txt: No such file or directory"),
    ],
)
def test_texts_that_cannot_be_used(
    content: bytes | None, arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (folder / "text.txt").write_bytes(content)
    output = folder / "other.pte"
    assert main(["export", str(folder), "-o", str(output), *arguments, "--calibration", str(folder / "text.txt")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not output.exists()


def test_perplexity_of_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "text.txt").write_text("", encoding="utf-8")
    for arguments, message in (
        (["--max-tokens", "0"], "--max-tokens must be 1 or more, not 0"),
        (["--tokenizer", "nowhere"], "nowhere: there is no such file"),
        ([], "fewer than two tokens"),
    ):
        assert main(["perplexity", str(folder / "net.pte"), "--text", str(folder / "text.txt"), *arguments]) == 1
        assert message in capsys.readouterr().err


def test_pieces_of_a_long_text(folder: Path) -> None:
    """Those held out come last, and the others from all over."""
    (folder / "many.txt").write_text(f"{TEXT}\n" * 2000, encoding="utf-8")
    tokens = Tokenizer(folder).encode((folder / "many.txt").read_text())
    found = calibration_of(folder / "many.txt", Tokenizer(folder), None)
    assert (len(found.seen), len(found.held_out)) == (PIECES, HELD_OUT)
    assert {len(each) for each in [*found.seen, *found.held_out]} == {LENGTH}
    assert found.seen[0] == tokens[:LENGTH]
    last = len(tokens) // LENGTH - 1
    assert found.held_out[-1] == tokens[last * LENGTH : (last + 1) * LENGTH]
    assert str(Calibration("a", [], [[1, 2]])) == "a: 1 tokens held out"
