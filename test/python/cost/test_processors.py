"""What `--cpu` names, and which profile `native` finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from xir.cost.native import GENERATIONS, MODELS, Machine, this_machine
from xir.cost.processors import MEANINGS, known_names, nearest, one_profile, processors, table
from xir.cost.profile import load_profile, shipped

AVX2 = "fpu avx avx2 fma f16c"
AVX512 = f"{AVX2} avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni"


def cpuinfo(folder: Path, vendor: str, family: int, model: int, flags: str) -> Path:
    """What Linux writes of a machine with two such processors."""
    fields = {"processor": 0, "vendor_id": vendor, "cpu family": family, "model": model, "flags": flags}
    text = "".join(f"{name}\t: {value}\n" for name, value in fields.items())
    file = folder / "cpuinfo"
    file.write_text(f"{text}\n{text}\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("vendor", "family", "model", "flags", "name", "reason"),
    [
        ("AuthenticAMD", 25, 1, AVX2, "zen3", "this is zen3 (avx2)"),
        ("AuthenticAMD", 25, 17, AVX512, "zen4", "this is zen4 (avx512)"),
        ("AuthenticAMD", 26, 2, AVX512, "zen4", "this is zen5 (avx512), whose nearest profile is of zen4"),
        ("AuthenticAMD", 23, 49, AVX2, "zen3", "this is zen2 (avx2), whose nearest profile is of zen3"),
        # A virtual machine may hide instructions, and XNNPACK then takes the kernels of older processors.
        ("AuthenticAMD", 25, 17, AVX2, "zen3", "this is zen4 (avx2), whose nearest profile is of zen3"),
        ("AuthenticAMD", 25, 17, "fpu", "generic-x86", "zen4 (neither AVX2 nor AVX-512) has no profile near it"),
        ("GenuineIntel", 6, 143, AVX512, "generic-x86", "sapphirerapids (avx512) has no profile near it"),
        ("GenuineIntel", 6, 255, AVX512, "generic-x86", "GenuineIntel family 6 model 255 has no profile near it"),
    ],
)
def test_native(tmp_path: Path, vendor: str, family: int, model: int, flags: str, name: str, reason: str) -> None:
    machine = this_machine(cpuinfo(tmp_path, vendor, family, model, flags), "x86_64")
    found = nearest(machine)
    assert (found.name, found.reason) == (name, reason)
    assert found.profiles == ((load_profile(name),) if name in shipped() else processors("generic-x86").profiles)


def test_native_where_the_system_tells_nothing(tmp_path: Path) -> None:
    assert this_machine(tmp_path / "missing", "x86_64") == Machine("x86")
    assert nearest(Machine("x86")).name == "generic-x86"
    assert nearest(this_machine(tmp_path / "missing", "aarch64")).profiles == ()
    assert this_machine(tmp_path / "missing", "riscv64").family == "any"
    assert nearest(Machine("any")).profiles == ()


def test_an_empty_cpuinfo_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_bytes(b"\xff\xfe model : x\n\nflags")
    assert this_machine(file, "x86_64") == Machine("x86")


def test_each_model_is_of_one_known_generation() -> None:
    for (vendor, _), rows in MODELS.items():
        numbers = [model for models, _ in rows for model in models]
        assert len(numbers) == len(set(numbers))
        assert {name for _, name in rows} <= set(GENERATIONS[vendor])


def test_generic_has_all_profiles_of_an_architecture() -> None:
    found = processors("generic-x86")
    assert [each.processor for each in found.profiles] == [load_profile(name).processor for name in shipped()]
    assert found.is_generic
    assert found.growth == 0.25
    assert processors("generic-arm").profiles == ()
    here = this_machine().family
    assert processors("generic").name == f"generic-{here}"


def test_options_name_processors(tmp_path: Path) -> None:
    assert processors("any").profiles == processors("x86").profiles == ()
    assert processors("zen4").profiles == (load_profile("zen4"),)
    assert processors("zen4").growth is None
    with pytest.raises(ValueError, match=r"cpu is one of any, x86, .*zen4, or a \.toml file of xir-tune, not 'pdp11'"):
        processors("pdp11")
    with pytest.raises(ValueError, match=r"cannot read the profile '.*missing\.toml': No such file"):
        processors(str(tmp_path / "missing.toml"))


def test_a_prediction_is_of_one_processor() -> None:
    assert one_profile("zen3") is load_profile("zen3")
    for name in ("any", "generic-x86"):
        with pytest.raises(ValueError, match=f"'{name}' is not one processor: name a profile, zen3, zen4"):
            one_profile(name)


def test_the_table_tells_what_each_is() -> None:
    lines = table().splitlines()
    assert [line.split()[0] for line in lines] == known_names() == [*MEANINGS, *shipped()]
    assert all("measured 20" in line for line in lines if line.split()[0] in shipped())
