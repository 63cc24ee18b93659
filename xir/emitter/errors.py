"""The one error that unreadable or unwritable bytes raise."""

from __future__ import annotations

from xir.ir.shown_text import shortened


class FormatError(ValueError):
    """Bytes that are not a valid file of their format, or a tree that its schema cannot hold.

    `offset` is the byte with the error (None when a tree is being written); `path` is the field that was being read,
    such as `Program.execution_plan[0].values[3]`.

    The text is one line of printable characters: names in it may come from the file.
    """

    def __init__(self, message: str, *, offset: int | None = None, path: str = ""):
        self.message = message
        self.offset = offset
        self.path = path
        super().__init__(message)

    def within(self, place: str) -> FormatError:
        """The error, its path as seen from outside of `place`."""
        self.path = place + self.path
        return self

    def __str__(self) -> str:
        where = "".join(
            [f" at byte {self.offset}" if self.offset is not None else "", f" in {self.path}" if self.path else ""]
        )
        text = shortened(self.message + where)
        return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
