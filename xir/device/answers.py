"""What a device answered, which may be anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xir.device.errors import DeviceError


@dataclass(frozen=True)
class Answer:
    """An object of JSON, whose members are asked for by their type. DeviceError where one is missing or another's."""

    device: str
    members: Mapping[str, Any]

    def has(self, name: str) -> bool:
        return name in self.members

    def text(self, name: str) -> str:
        return self._of_type(name, str)

    def whole(self, name: str, otherwise: int | None = None) -> int:
        return otherwise if otherwise is not None and not self.has(name) else self._of_type(name, int)

    def number(self, name: str) -> float:
        return float(self._of_type(name, int, float))

    def numbers(self, name: str) -> Sequence[float]:
        return [Answer(self.device, {name: each}).number(name) for each in self._of_type(name, list)]

    def wholes(self, name: str) -> Sequence[int]:
        values = self.numbers(name)
        if not all(value.is_integer() for value in values):
            raise self._nonsense(self.members[name], name)
        return [int(value) for value in values]

    def objects(self, name: str) -> Sequence[Answer]:
        values = self._of_type(name, list)
        return [Answer(self.device, Answer(self.device, {name: each})._of_type(name, dict)) for each in values]

    def _of_type(self, name: str, *kinds: type) -> Any:
        value = self.members.get(name)
        if isinstance(value, kinds) and not isinstance(value, bool):
            return value
        raise self._nonsense(value, name)

    def _nonsense(self, value: Any, name: str) -> DeviceError:
        shown = "none" if value is None else f"{value!r:.60}"
        return DeviceError(
            f"{self.device}: it answers with {shown} as '{name}': use the xnn_executor_runner that belongs to this xir"
        )
