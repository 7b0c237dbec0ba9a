"""Data by name, in a cell that runs as a job and in a kernel alike: ``data_path("imagenet")``."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.data import data_variable


def data_path(name: str) -> str:
    """Where the data of that name lies: in a job what ``--stage-in`` brought there, in a kernel a copy on this machine.

    :raises DataProblem: there is none here, with what to do.
    """
    path = os.environ.get(data_variable(name))
    if path is not None:
        return path
    if "DIAMOND_WARNED" in os.environ:  # the runner sets it in every job
        raise DataProblem(
            f"No data named {name!r} was brought to this job.", kind="missing",
            advice=f"Add --stage-in {name} to the cell's line.",
        )  # fmt: skip
    return _at_home(name)


def _at_home(name: str) -> str:
    from jupyter_diamond.notebook.session import session

    dataset = session().client.dataset(name)
    for replica in dataset.replicas:
        if replica.location.kind == "home" and replica.state in ("here", "unknown"):
            return str(Path(replica.location.path).expanduser())
    others = ", ".join(str(replica.location) for replica in dataset.replicas) or "nowhere"
    raise DataProblem(
        f"There is no copy of {name} on this machine; it lies at {others}.", kind="missing",
        advice=f"Bring it here (%diamond transfer), or run the cell as a job with --stage-in {name}.",
    )  # fmt: skip
