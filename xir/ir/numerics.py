"""How far a pass may move the numbers that a program computes, and why: a property of each pass."""

from __future__ import annotations

from enum import Enum


class Numerics(Enum):
    """What a pass does to the program's numbers; the value is the reason that a failed check gives.

    Programs are compared in fp64, without the roundings of activations (`xir.evaluate`): what is left are the roundings
    of what passes compute themselves.
    """

    SAME = "the pass keeps every number"
    """The same operations on the same constants, in another place or order."""
    ROUNDED = "the pass computes constants anew, or functions in another form, each rounded to the program's type"
    """As folding a factor into weights does."""
    REQUANTIZED = "the pass makes integers of biases, up to half a step away, and shorter scales"
    """As making integers of a bias does."""
    KERNELS = "the program is run by its kernels, in the types and the order that they compute in"
    """There is a program to run now, and no IR that the evaluator knows."""
