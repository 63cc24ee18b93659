"""Measuring in processes that have done nothing else."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")


def in_copy_of_process(measure: Callable[[], T]) -> T:
    """What `measure` gives in a copy of this process, which is new as long as this one has loaded nothing itself.

    EOFError if the copy ends without a result.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run(to: Connection) -> None:
        to.send(measure())

    process = context.Process(target=run, args=(sender,))
    process.start()
    sender.close()
    result = receiver.recv()
    process.join()
    return result
