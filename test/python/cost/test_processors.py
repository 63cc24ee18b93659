"""What `--cpu` names, and which profile `native` finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from xir.cost.native import GENERATIONS, MODELS, Machine, installed_xnnpack, machine_of, this_machine
from xir.cost.processors import (
    MEANINGS,
    caveat,
    known_names,
    nearest,
    one_profile,
    other_library,
    processors,
    table,
)
from xir.cost.profile import load_profile, shipped
from xir.cost.work import KERNELS

AVX2 = "fpu avx avx2 fma f16c"
OF = ", whose nearest profile is of"
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
        ("AuthenticAMD", 26, 2, AVX512, "zen4", f"this is zen5 (avx512){OF} zen4"),
        ("AuthenticAMD", 23, 49, AVX2, "zen3", f"this is zen2 (avx2){OF} zen3"),
        # A virtual machine may hide instructions, and XNNPACK then takes the kernels of older processors.
        ("AuthenticAMD", 25, 17, AVX2, "zen3", f"this is zen4 (avx2){OF} zen3"),
        ("AuthenticAMD", 25, 17, "fpu", "generic-x86", "zen4 (neither AVX2 nor AVX-512) has no profile near it"),
        ("GenuineIntel", 6, 207, AVX512, "emeraldrapids", "this is emeraldrapids (avx512)"),
        ("GenuineIntel", 6, 143, AVX512, "emeraldrapids", f"this is sapphirerapids (avx512){OF} emeraldrapids"),
        ("GenuineIntel", 6, 60, AVX2, "generic-x86", "haswell (avx2) has no profile near it"),
        ("GenuineIntel", 6, 255, AVX512, "generic-x86", "GenuineIntel family 6 model 255 has no profile near it"),
    ],
)
def test_native(tmp_path: Path, vendor: str, family: int, model: int, flags: str, name: str, reason: str) -> None:
    machine = this_machine(cpuinfo(tmp_path, vendor, family, model, flags), "x86_64")
    found = nearest(machine)
    assert (found.name, found.reason) == (name, reason)
    assert found.profiles == ((load_profile(name),) if name in shipped() else processors("generic-x86").profiles)


def test_threads_are_one_and_two_unless_they_are_said() -> None:
    assert processors("generic-x86").counted_threads == (1, 2)
    assert processors("zen4").counted_threads == (1,)
    for cpu in ("generic-x86", "zen4"):
        for threads in (1, 2, 8):
            found = processors(cpu, threads)
            assert found.counted_threads == (threads,)
            assert [each.threads for each in found.profiles] == [threads] * len(processors(cpu).profiles)
    assert one_profile("zen4", 2) == load_profile("zen4").on_threads(2)
    with pytest.raises(ValueError, match="threads is a number from 1 on, or 0 for what cpu says, not -2"):
        processors("any", -2)


def arm_cores(*parts: tuple[int, int]) -> str:
    """What Linux writes of such cores."""
    return "".join(
        f"processor\t: {index}\nBogoMIPS\t: 38.40\nCPU implementer\t: {maker:#x}\nCPU part\t: {part:#x}\n\n"
        for index, (maker, part) in enumerate(parts)
    )


@pytest.mark.parametrize(
    ("parts", "name", "reason"),
    [
        ([(0x41, 0xD05)] * 4, "cortex-a55", "this is cortex-a55 (neon)"),
        ([(0x41, 0xD0B)], "cortex-a76", "this is cortex-a76 (neon)"),
        ([(0x41, 0xD41)], "cortex-a76", f"this is cortex-a78 (neon){OF} cortex-a76"),
        ([(0x51, 0x804)], "cortex-a76", "this is cortex-a76 (neon)"),
        ([(0x61, 0x23)], "apple-m1", "this is apple-m1 (neon)"),
        # Phones have cores of several kinds: the largest counts, wherever it is.
        ([(0x41, 0xD05)] * 4 + [(0x41, 0xD41)] * 3 + [(0x41, 0xD44)], "cortex-x1", "this is cortex-x1 (neon)"),
        ([(0x41, 0xD4E), (0x41, 0xD46)], "cortex-x1", f"this is cortex-x3 (neon){OF} cortex-x1"),
        ([(0x41, 0xFFF)], "generic-arm", "an Arm processor of maker 0x41, part 0xfff has no profile near it"),
        ([], "generic-arm", "a processor of the family 'arm' has no profile near it"),
    ],
)
def test_native_on_arm(tmp_path: Path, parts: list[tuple[int, int]], name: str, reason: str) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(arm_cores(*parts), encoding="utf-8")
    found = nearest(this_machine(file, "aarch64"))
    if not name.startswith("generic"):
        reason += ", modelled, not measured"
    assert (found.name, found.reason) == (name, reason)


@pytest.mark.parametrize(
    ("brand", "name"),
    [("Apple M1", "apple-m1"), ("Apple M2 Pro", "apple-m1"), ("Apple M10", "generic-arm"), ("", "generic-arm")],
)
def test_native_on_a_mac(brand: str, name: str) -> None:
    found = nearest(machine_of("", "arm64", brand))
    assert found.name == name
    assert brand in found.reason or name == "apple-m1"


def test_native_where_the_system_tells_nothing(tmp_path: Path) -> None:
    """No file, or one that is no text; an odd core is passed over."""
    missing, odd = tmp_path / "missing", tmp_path / "cpuinfo"
    odd.write_bytes(b"\xff\xfe model : x\n\nflags")
    assert this_machine(missing, "x86_64") == this_machine(odd, "x86_64") == Machine("x86")
    assert nearest(Machine("x86")).name == "generic-x86"
    assert nearest(this_machine(missing, "aarch64")).name == "generic-arm"
    assert this_machine(missing, "riscv64").family == "any"
    assert nearest(Machine("any")).profiles == ()
    text = "CPU implementer : 0x41\nCPU part : none\n\n" + arm_cores((0x41, 0xD0B))
    assert machine_of(text, "aarch64").generation == "cortex-a76"


def test_each_model_is_of_one_known_generation() -> None:
    for (vendor, _), rows in MODELS.items():
        numbers = [model for models, _ in rows for model in models]
        assert len(numbers) == len(set(numbers))
        assert {name for _, name in rows} <= {
            name for line, names in GENERATIONS.items() if line == vendor or vendor == "Arm" for name in names
        }


@pytest.mark.parametrize("family", ["x86", "arm"])
def test_generic_has_all_profiles_of_an_architecture(family: str) -> None:
    found = processors(f"generic-{family}")
    every = [load_profile(name) for name in shipped()]
    assert list(found.profiles) == [profile for profile in every if profile.family == family]
    assert len(found.profiles) > 1
    assert found.is_generic
    assert found.growth == 0.25


def test_the_profiles_of_x86_were_measured_and_those_of_arm_were_not() -> None:
    for profile in map(load_profile, shipped()):
        assert profile.modelled == (profile.family == "arm")
        assert ("(modelled, not measured)" in profile.processor) == profile.modelled
        assert (caveat([profile]) == ", modelled, not measured") == profile.modelled
        assert set(profile.kernels) == set(KERNELS) or not profile.modelled
    assert caveat(processors("generic-arm").profiles) == ", modelled, not measured"
    assert caveat([]) == ""


def test_here_generic_is_of_this_architecture() -> None:
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


def test_profiles_of_another_library_are_told(tmp_path: Path) -> None:
    """Those that come with xir are of the library that it is tested with: another one has to be measured again."""
    for profile in map(load_profile, shipped()):
        assert profile.modelled or profile.xnnpack == installed_xnnpack()
        assert other_library(profile) == ""
    zen3, file = load_profile("zen3"), tmp_path / "mine.toml"
    file.write_text(replace(zen3, xnnpack="executorch 0.7.0").text(), encoding="utf-8")
    says = f"measured with executorch 0.7.0, installed is {installed_xnnpack()}, whose kernels may take other times"
    assert processors(str(file)).reason == says
    # A device's library, which is another build of the same sources, is not the one that is installed here.
    assert other_library(replace(zen3, xnnpack="XNNPACK build 0123456789ab")) == ""


def test_a_prediction_is_of_one_processor() -> None:
    assert one_profile("zen3") is load_profile("zen3")
    for name in ("any", "generic-x86"):
        with pytest.raises(ValueError, match=f"'{name}' is not one processor: name a profile, .*, zen3, zen4 or"):
            one_profile(name)


def test_the_table_tells_what_each_is() -> None:
    lines = table().splitlines()
    assert [line.split()[0] for line in lines] == known_names() == [*MEANINGS, *shipped()]
    for line in lines:
        if (name := line.split()[0]) in shipped():
            says = "(modelled, not measured): from public figures" if load_profile(name).modelled else "measured 20"
            assert says in line
