"""The Scheduler protocol over a file of recorded snapshots.

``DIAMOND_SIMULATED`` names the file: one snapshot as ``GET /sites`` answers it, or a list of them. They are replayed
in a circle, one a minute of the clock, so that every viewer sees the same. ``DIAMOND_SIMULATED_SITE`` names the
recorded site where it is called otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import ValidationError

from jupyter_diamond.errors import InvalidRequest, SchedulerError
from jupyter_diamond.model.jobs import JobReading, JobRequest, NativeJob
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading, Snapshot
from jupyter_diamond.transport.base import Completed

FILE, NAME = "DIAMOND_SIMULATED", "DIAMOND_SIMULATED_SITE"
_FRAME_S = 60
_REFUSED = "This site is simulated: it shows recorded numbers, and nothing can run there. Choose another site."


class SimulatedScheduler:
    """Reads recordings; refuses all that would need a site."""

    kind = "simulated"
    end_notice = b""

    def probe_script(self, *, limits: bool = False) -> str:
        """The recorded site's name, then the recording."""
        return f'printf "%s\\n" "${NAME}"; cat -- "${FILE}"\n'

    def parse_probe(self, site: str, answer: Completed, *, read_at: datetime) -> SiteReading:
        """The frame of this minute, as if it were read now; marked simulated. Raises SchedulerError."""
        if answer.exit != 0:
            said = answer.err.strip().splitlines()
            raise SchedulerError(
                f"The recording of {site} cannot be read: {said[-1] if said else 'no reason given'}. "
                f"Set env: {{{FILE}: /path/to/snapshots.json}} in the site catalogue."
            )
        name, _, text = answer.out.partition("\n")
        frames = [
            reading for snapshot in _snapshots(site, text) for reading in snapshot.sites
            if reading.site == (name or site) and reading.read_at is not None
        ]  # fmt: skip
        if not frames:
            raise SchedulerError(
                f"The recording of {site} holds no reading of a site {name or site}: name it in env: {NAME}."
            )
        frame = frames[int(read_at.timestamp() // _FRAME_S) % len(frames)]
        return frame.model_copy(
            update={
                "site": site, "read_at": read_at, "tried_at": read_at, "simulated": True, "problem": "",
                "scheduler": self.kind, "health": "online",
                "records": tuple(
                    record.model_copy(update={"site": site, "read_at": read_at}) for record in frame.records
                ),
            }
        )  # fmt: skip

    def parse_jobs(self, site: str, answer: Completed, *, read_at: datetime) -> SiteQueue | None:
        """None: recordings hold numbers, no jobs."""
        return None

    def job_script(self, job: JobRequest) -> str:
        """Refused."""
        raise InvalidRequest(_REFUSED)

    def submit_command(self, job: JobRequest) -> str:
        """Refused."""
        raise InvalidRequest(_REFUSED)

    def parse_submit(self, answer: Completed) -> NativeJob:
        """Refused."""
        raise InvalidRequest(_REFUSED)

    def lookup_script(self, tokens: Sequence[str], *, since: datetime) -> str:
        """Nothing to ask."""
        return ":\n"

    def parse_lookup(self, answer: Completed) -> JobReading:
        """There never was a job."""
        return JobReading()

    def queue_script(self, jobs: Sequence[NativeJob]) -> str:
        """Nothing to ask."""
        return ":\n"

    def parse_queue(self, answer: Completed) -> JobReading:
        """There never was a job."""
        return JobReading()

    def accounting_script(self, jobs: Sequence[NativeJob], *, since: datetime) -> str:
        """Nothing to ask."""
        return ":\n"

    def parse_accounting(self, answer: Completed) -> JobReading:
        """There never was a job."""
        return JobReading()

    def cancel_script(self, jobs: Sequence[NativeJob], *, waiting_only: bool = False) -> str:
        """Nothing to cancel."""
        return ":\n"

    def parse_cancel(self, answer: Completed) -> tuple[str, ...]:
        """Nothing was cancelled, and nothing had to be."""
        return ()


def _snapshots(site: str, text: str) -> list[Snapshot]:
    try:
        content = json.loads(text)
        return [Snapshot.model_validate(each) for each in (content if isinstance(content, list) else [content])]
    except (ValueError, ValidationError) as error:
        what = str(error).splitlines()[0]
        raise SchedulerError(f"The recording of {site} is no list of snapshots: {what}.") from error
