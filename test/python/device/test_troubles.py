"""Devices that go wrong: each ends in one line that says what, where and what to do, and a second call goes on."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from xir.cost.profile import load_profile
from xir.device import session
from xir.tools import xir_tune
from xir.tuning import clock, measure

FAKE = Path(__file__).with_name("fake_device.py")
BUILD = "XNNPACK build fa4ede71ce00"
KERNELS = "softmax,tanh"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PATIENCE", 20.0)
    monkeypatch.setattr(session, "RUNNING", 0.5)
    monkeypatch.setattr(clock, "WAITS", (0.0, 0.0))
    monkeypatch.setattr(measure, "OTHERS", tuple((size, 8) for size in range(2, 12)))
    monkeypatch.setattr(measure, "ROWS", tuple((size, 8) for size in range(2, 8)))


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """One that lacks some kernels."""
    file = tmp_path / "phone.toml"
    file.write_text(replace(load_profile("zen3"), xnnpack=BUILD).text(), encoding="utf-8")
    return file


def tune(profile: Path, trouble: str = "", after: int = 0, *more: str) -> int:
    command = [sys.executable, str(FAKE), str(profile.with_name("log")), *([trouble, str(after)] if trouble else [])]
    return xir_tune.main(["-o", str(profile), "--samples", "4", "--only", KERNELS, "--on", shlex.join(command), *more])


def requests(profile: Path) -> list[str]:
    return profile.with_name("log").read_text(encoding="ascii").split()


def test_a_device_is_measured(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(profile) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {profile}"
    assert not profile.with_name("phone.toml.measured").exists()
    assert requests(profile)[:3] == ["hello", "core", "hello"]


def test_greetings_are_passed_over(profile: Path) -> None:
    assert tune(profile, "chatty") == 0


@pytest.mark.parametrize(
    ("trouble", "after", "message"),
    [
        ("hang", 30, "no answer in 0.5 s while running a program; 2 of 5 times are kept in"),
        ("die", 30, "the connection ended while running a program: Segmentation fault; 2 of 5 times are kept in"),
        (
            "nonsense",
            30,
            "no answer of the protocol but 'Traceback:  [31mno [0m' while running a program: is that the ",
        ),
        ("jump", 30, "the clock has jumped: the reference takes 1.70 times what it took at first, also after 0 s of"),
        ("hot", 30, "the core is hot, cpu-0-0 at 96.0 of 95.0 °C, also after 0 s of rest: what is measured would"),
    ],
)
def test_a_second_call_goes_on(
    profile: Path, capsys: pytest.CaptureFixture[str], trouble: str, after: int, message: str
) -> None:
    before = profile.read_bytes()
    assert tune(profile, trouble, after) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("xir-tune: error: ")
    assert str(FAKE) in line
    assert message in line
    assert line.endswith("the same command goes on from there")
    assert profile.read_bytes() == before
    loads = requests(profile).count("load")
    profile.with_name("log").unlink()
    assert tune(profile) == 0
    assert requests(profile).count("load") == 2 * 3
    assert loads >= 2 * 2
    assert profile.read_bytes() != before
    assert not profile.with_name("phone.toml.measured").exists()


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("version", "its program speaks version 2 of the protocol, and this is 1: use the xnn_executor_runner that"),
        ("full", "0 sizes of the kernel tanh are too few to fit, and 5 take too long or do not fit there: give more"),
        ("slow", "0 sizes of the kernel tanh are too few to fit, and 5 take too long or do not fit there: give more"),
    ],
)
def test_a_device_that_cannot_be_measured(
    profile: Path, capsys: pytest.CaptureFixture[str], trouble: str, message: str
) -> None:
    before = profile.read_bytes()
    assert tune(profile, trouble) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert profile.read_bytes() == before


def test_too_little_time(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(profile, "", 0, "--minutes", "1e-9") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "there was no time for 5 of the 5 sizes that a profile needs at least" in line
    assert tune(profile) == 0


def test_one_lost_connection_is_replaced(profile: Path) -> None:
    """A device that dies once is asked again, and nothing that was measured is measured again."""
    log = profile.with_name("log")
    command = f"if [ -e {log}.died ]; then exec {sys.executable} {FAKE} {log}; fi; "
    command += f"[ -e {log}.first ] && touch {log}.died; touch {log}.first; exec {sys.executable} {FAKE} {log} die 30"
    on = shlex.join(["sh", "-c", command])
    assert xir_tune.main(["-o", str(profile), "--samples", "4", "--only", KERNELS, "--on", on]) == 0
    assert requests(profile).count("load") in (2 * 5 + 1, 2 * 5 + 2)


def test_what_another_machine_measured_is_not_mixed(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(profile, "die", 30) == 1
    kept = profile.with_name("phone.toml.measured")
    kept.write_text(kept.read_text(encoding="utf-8").replace("Cortex-A76", "Cortex-A55"), encoding="utf-8")
    capsys.readouterr()
    assert tune(profile) == 1
    assert f"{kept} keeps what was measured on another machine or XNNPACK" in capsys.readouterr().err
    kept.write_text("[]\n", encoding="utf-8")
    assert tune(profile) == 1
    assert f"{kept} is no file of kept measurements: remove it" in capsys.readouterr().err


def test_an_unfinished_line_does_not_count(profile: Path) -> None:
    assert tune(profile, "die", 30) == 1
    kept = profile.with_name("phone.toml.measured")
    kept.write_text(kept.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    profile.with_name("log").unlink()
    assert tune(profile) == 0
    assert requests(profile).count("load") == 2 * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on", "ssh:"], "--on: a device is local, ssh:host, adb:serial, or a command that starts"),
        (["--on", "nowhere-to-be-found --x"], "--on: a device is local, ssh:host, adb:serial, or a command"),
        (["--on", "sh 'a"], "--on: 'sh 'a' is no command: No closing quotation"),
        (["--on", "true"], "true: the connection ended while waiting for it to say what it is: it ended with code 0"),
        (["--program", "missing"], "--program: there is no file 'missing'"),
        (["--minutes", "0"], "--minutes takes a number above 0, not 0.0"),
        (["--core", "-1"], "--core takes a core's number from 0 on, not -1"),
    ],
)
def test_wrong_devices(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert xir_tune.main(["-o", str(tmp_path / "a.toml"), *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == []
