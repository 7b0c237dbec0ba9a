"""Work that is longer than a time limit: save it before the end, and go on from there in the next segment.

In a cell that is sent with ``--segments 5``::

    from jupyter_diamond import checkpoint

    last = checkpoint.latest()
    step = load(last) if last else 0
    while step < steps:
        step = work(step)
        if checkpoint.warned():
            with checkpoint.saving() as folder:
                save(step, folder)
            checkpoint.leave()

The same names are there at every site, also where this package is not installed: the runner brings them. In a kernel
nothing is near its end, ``latest`` finds nothing that another process saved, and the cell runs through.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NoReturn

from jupyter_diamond.cell.runner import diamond_runner

__all__ = ["folder", "latest", "leave", "saving", "warned"]


def warned() -> bool:
    """Whether the job's time limit is near (``--warn 2m``): save, and leave. It costs a look at a file."""
    return bool(diamond_runner.warned())


def folder() -> str:
    """The folder of this task's checkpoints at its site; it is there for every attempt of the task."""
    return str(diamond_runner.folder())


def latest() -> str | None:
    """The path of the newest finished checkpoint; None when there is none, so begin at the beginning."""
    found: str | None = diamond_runner.latest()
    return found


def saving(name: str | None = None, *, keep: int | None = None) -> AbstractContextManager[str]:
    """A new, empty folder to save into, which becomes a checkpoint, all at once, when the ``with`` block ends well.

    ``name`` is shown where the next segment tells from where it goes on: ``step-1200``; without one it is a number.
    ``keep`` removes older ones but so many; without it none is ever removed. Raises ValueError and OSError.
    """
    made: AbstractContextManager[str] = diamond_runner.saving(name, keep)
    return made


def leave() -> NoReturn:
    """End this attempt here, to be continued by the next segment. It is no failure and costs no retry."""
    diamond_runner.leave()
    raise AssertionError("leaving does not return")
