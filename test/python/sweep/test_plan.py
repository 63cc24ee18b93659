"""Plans of sweeps, right and wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from xir.tools.command_line import UsageError
from xir.tools.sweep.plan import read_plan
from xir.tools.xir_sweep import main

PLAN = """
models = ["mv2", "net.py:net"]
forms = ["fp32", "int8"]
cpus = ["generic", "any"]
options = ["--max-growth=0"]
seconds = 0.5

[[model]]
source = "llama2"
name = "decoder"
forms = ["int4"]
devices = ["local", "pi"]
options = ["--group-size=64"]

[device.pi]
on = "ssh:pi"
"""


def test_a_plan_is_each_model_in_each_form(tmp_path: Path) -> None:
    (tmp_path / "net.py").touch()
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.seconds == 0.5
    assert [(task.model, task.form, task.cpus, task.arguments) for task in plan.tasks] == [
        ("mv2", "fp32", ("generic", "any"), ("--model_name", "mv2", "--max-growth=0")),
        ("mv2", "int8", ("generic", "any"), ("--model_name", "mv2", "--quantize=int8", "--max-growth=0")),
        ("net", "fp32", ("generic", "any"), ("--model", "net.py:net", "--max-growth=0")),
        ("net", "int8", ("generic", "any"), ("--model", "net.py:net", "--quantize=int8", "--max-growth=0")),
        ("decoder", "int4", ("generic", "any"), ("--model_name", "llama2", "--quantize=int4", "--group-size=64")),
    ]
    assert [device.on for device in plan.tasks[-1].devices] == ["local", "ssh:pi"]
    assert len(set(plan.keys)) == len(plan.keys) == 12


BAD = {
    "": "there is no model: models = ['mv2', 'net.py:net'], or a table [[model]] with a source",
    "models = 'mv2'": "models is a list of texts, as models = ['a', 'b']",
    "models = ['mv']": "'mv' is no model of the zoo; did you mean 'mv3'?; others are FILE.py:FACTORY",
    "models = ['a.py:f']": "there is no file '{folder}/a.py'",
    "models = ['a.pt2']": "there is no file '{folder}/a.pt2'",
    "models = ['mv2', 'mv2']": "is there twice",
    "model = ['mv2']": "a model is a table",
    "[[model]]\nname = 'x'": "a [[model]] needs source: a model of the zoo, FILE.py:FACTORY, or FILE.pt2",
    "model = 3": "models with options of their own are tables [[model]]",
    "models = ['mv2']\nforms = ['int9']": "'int9' is none of the forms",
    "models = ['mv2']\ncpus = ['zen']": "cpus: cpu is one of",
    "models = ['mv2']\ncpus = []": "cpus is empty",
    "models = ['mv2']\ndevices = []": "devices is empty",
    "models = ['mv2']\ndevices = ['no-such-command']": "devices: a device is local, ssh:host",
    "models = ['mv2']\ndevice = {pi = {}}": "device.pi has texts, on = 'ssh:host' among them",
    "models = ['mv2']\noptions = ['--quick']": "mv2, fp32: unrecognized arguments: --quick",
    "models = ['mv2']\noptions = ['--group-size=8']": "mv2, fp32: --group-size says how to quantise",
    "models = ['mv2']\nform = ['fp32']": "the plan has no 'form'; it has models, forms, cpus",
    "models = ['mv2']\nseconds = 0": "seconds is a number above 0 and up to 3600: how long each file is measured",
    "models = [": "Invalid value",
}


@pytest.mark.parametrize("text", BAD)
def test_a_wrong_plan_is_one_diagnostic(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as found:
        read_plan(path)
    assert BAD[text].format(folder=tmp_path) in str(found.value)
    assert main([str(path), "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"xir-sweep: error: {path}: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
