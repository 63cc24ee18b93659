"""Damaged `.pte` files as input of `xir-aot`: one diagnostic and nothing written, or a file that is as good."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
from reference.tools import Tool

DATA = Path(__file__).parents[3] / "backend_cpp/tests/data"
EACH = 20
"""Mutants of a file."""

MOST_SECONDS = 8.0
"""Of processor time for one of them: sizes in a file may ask for much, and get a part of it."""


def cut(data: bytearray, random: Random) -> bytearray:
    return data[: random.randrange(len(data))]


def with_extreme(data: bytearray, random: Random) -> bytearray:
    """A field of four bytes becomes an extreme of its type."""
    at = 4 * random.randrange(len(data) // 4)
    data[at : at + 4] = random.choice([b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4), b"\0\0\0\x10", b"\x01\0\0\0"])
    return data


def with_other_bytes(data: bytearray, random: Random) -> bytearray:
    for _ in range(random.randrange(1, 8)):
        data[random.randrange(len(data))] = random.randrange(256)
    return data


def with_other_bit(data: bytearray, random: Random) -> bytearray:
    """Among the first bytes, where tables are rather than weights."""
    data[random.randrange(min(len(data), 6000))] ^= 1 << random.randrange(8)
    return data


def with_copied_part(data: bytearray, random: Random) -> bytearray:
    source, target, size = random.randrange(len(data)), random.randrange(len(data)), random.randrange(1, 64)
    part = data[source : source + size]
    data[target : target + len(part)] = part
    return data


def with_other_number(data: bytearray, random: Random) -> bytearray:
    """A number, such as an offset, becomes a near or a far one."""
    at = random.randrange(len(data) - 4)
    number = int.from_bytes(data[at : at + 4], "little") + random.choice([1, -1, 4, 1000, 1 << 20])
    data[at : at + 4] = (number % (1 << 32)).to_bytes(4, "little")
    return data


KINDS = (cut, with_extreme, with_other_bytes, with_other_bit, with_copied_part, with_other_number)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["stock_small", "stock_q8"])
def test_a_damaged_file_is_one_diagnostic(name: str, aot: Tool) -> None:
    whole = (DATA / f"{name}.pte").read_bytes()
    random, old, new = Random(len(whole)), Path("old.pte"), Path("new.pte")
    refused = 0
    for number in range(EACH):
        old.write_bytes(KINDS[number % len(KINDS)](bytearray(whole), random))
        began = time.process_time()
        code = aot.main([str(old), "-o", str(new), "--no-stock"])
        spent = time.process_time() - began
        out, err = aot.capture.readouterr()
        assert spent < MOST_SECONDS, (number, spent)
        assert code in (0, 1), (number, code, err)
        assert sorted(Path().iterdir()) == ([new, old] if code == 0 else [old]), number
        if code == 1:
            refused += 1
            assert out == "", number
            assert err.count("\n") == 1, err
            assert ": error: " in err, err
        new.unlink(missing_ok=True)
    assert 0 < refused < EACH
