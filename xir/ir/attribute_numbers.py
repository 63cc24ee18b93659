"""Numbers that stand for attributes in keys of dictionaries."""

from __future__ import annotations

from xdsl.ir import Attribute

MOST_IDS = 1 << 17
"""How many attributes are known by their ids, and so kept although nothing else may need them."""


class AttributeNumbers:
    """Numbers for attributes, the same for equal ones. Hashing an attribute costs much more than looking up its id."""

    def __init__(self) -> None:
        self._by_id: dict[int, tuple[Attribute, int]] = {}
        self._by_value: dict[Attribute, int] = {}

    def __getitem__(self, attribute: Attribute) -> int:
        known = self._by_id.get(id(attribute))
        if known is None:
            if len(self._by_id) == MOST_IDS:
                self._by_id.clear()
            # The attribute is kept as well, so that its id stays its own after its op is gone.
            known = (attribute, self._by_value.setdefault(attribute, len(self._by_value)))
            self._by_id[id(attribute)] = known
        return known[1]
