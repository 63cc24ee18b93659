"""Measuring in processes that have done nothing else."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

import torch

T = TypeVar("T")


def in_copy_of_process(measure: Callable[[], T]) -> T:
    """What `measure` gives in a copy of this process, which is new as long as this one has loaded nothing itself.

    PyTorch's own ops have one thread there: a fork has none of OpenMP's threads, and would wait for them without end.
    EOFError if the copy ends without a result.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run(to: Connection) -> None:
        torch.set_num_threads(1)
        to.send(measure())

    process = context.Process(target=run, args=(sender,))
    process.start()
    sender.close()
    result = receiver.recv()
    process.join()
    return result
