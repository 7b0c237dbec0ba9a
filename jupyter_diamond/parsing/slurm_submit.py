"""What ``sbatch`` answered: a job, a refusal (for now or for good), or nothing that settles it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.errors import DiamondError, SchedulerError, SubmitOutputUnreadable, SubmitRefused
from jupyter_diamond.model.jobs import NativeJob

from . import jobids

_CONTROLLER_SAID_NO = "Batch job submission failed: "
_TIMED_OUT, _NO_COMMAND = 124, 127

UNREACHABLE = re.compile(
    r"Socket timed out|Zero Bytes were transmitted|Unable to contact slurm controller|"
    r"Connection (timed out|reset|refused)|[Mm]unge|Protocol authentication error|Unexpected message received|"
    r"Transport endpoint|Insane message length|Slurm backup controller in standby|Communication|"
    r"Header lengths are longer|Address already in use"
)
"""The controller may or may not have heard us."""


class _Refusal(NamedTuple):
    code: str
    pattern: re.Pattern[str]
    sentence: str
    permanent: bool


_REFUSALS = (
    _Refusal(
        "SubmitLimit",
        re.compile(r"(Assoc|QOS)(Grp|Max)Submit\w*"),
        "You have as many jobs queued there as the site allows{queued}; it can be sent when one of them has ended",
        permanent=False,
    ),
    _Refusal(
        "JobsLimit",
        re.compile(r"(Assoc|QOS)(Grp|Max)Jobs\w*"),
        "You have as many jobs there as the site allows at once{queued}",
        permanent=False,
    ),
    _Refusal(
        "GroupLimit",
        re.compile(r"(Assoc|QOS)Grp\w+"),
        "Your project's share there is used up for now{queued}",
        permanent=False,
    ),
    _Refusal(
        "PartitionClosed",
        re.compile(r"Required partition not available|partition (is )?(down|inactive)|PartitionDown", re.IGNORECASE),
        "The partition takes no jobs at the moment",
        permanent=False,
    ),
    _Refusal(
        "SchedulerFull",
        re.compile(
            r"temporarily unable to accept job|Resource temporarily unavailable|Maximum job count|queue is full"
        ),
        "The scheduler takes no more jobs at the moment",
        permanent=False,
    ),
    _Refusal(
        "NodesUnavailable",
        re.compile(r"Requested partition configuration not available now"),
        "The nodes are not available at the moment",
        permanent=False,
    ),
    _Refusal(
        "TimeLimit",
        re.compile(r"(Assoc|QOS)MaxWall\w*|Requested time limit is invalid|PartitionTimeLimit"),
        "The time limit is longer than this account, QOS or partition allows; ask for less with --time",
        permanent=True,
    ),
    _Refusal(
        "InvalidAccount",
        re.compile(r"InvalidAccount|Invalid account or account/partition"),
        "The account is not valid for this partition; name another one with --account",
        permanent=True,
    ),
    _Refusal(
        "InvalidQOS",
        re.compile(r"Invalid qos|InvalidQOS"),
        "The QOS is not valid here; leave it out or name another one with --qos",
        permanent=True,
    ),
    _Refusal(
        "InvalidPartition",
        re.compile(r"[Ii]nvalid partition"),
        "There is no such partition; choose another one with --site SITE:PARTITION",
        permanent=True,
    ),
    _Refusal(
        "JobSize",
        re.compile(r"(Assoc|QOS)(Max|Min)\w*"),
        "One job may not be that large (or that small) under this account or QOS; change its size",
        permanent=True,
    ),
    _Refusal(
        "NodeConfiguration",
        re.compile(
            r"Requested node configuration is not available|More processors requested|Node count specification invalid|"
            r"Memory (specification|required)|CPU count per node|Invalid generic resource|Invalid Trackable RESource"
        ),
        "No node of the partition has what one node must give; ask for less, or choose another partition",
        permanent=True,
    ),
    _Refusal(
        "NotAllowed",
        re.compile(r"[Pp]ermission denied|not permitted to use|User's group"),
        "You are not allowed to use this partition or account; choose another one",
        permanent=True,
    ),
    _Refusal(
        "NoConfiguration",
        re.compile(r"Unable to process configuration file|[Cc]ould not establish a configuration source"),
        "sbatch cannot read Slurm's configuration; set SLURM_CONF under env in the site catalogue",
        permanent=True,
    ),
)

_QUEUED = re.compile(r"diamond: queued=([0-9]+)")
_NOISE = re.compile(r"^(sbatch: )?(error: |fatal: )?")


def submitted(rc: int, stdout: str, stderr: str) -> NativeJob:
    """The job of a successful submission.

    Raises SubmitRefused when the scheduler surely said no, SubmitOutputUnreadable when it took a job that cannot be
    told, and SchedulerError (transient) when nobody knows: the job *may be queued* and is to be looked for (B03).
    """
    evidence = tuple(line for line in (stderr + "\n" + stdout).splitlines() if line.strip())[:40]
    job = jobids.submitted(stdout)
    if rc == 0 and job is not None:
        return job
    if rc == 0 or job is not None:
        raise SubmitOutputUnreadable(
            "Slurm may have taken the job, but its answer does not name exactly one; it is looked for by its token.",
            transient=True,
            evidence=evidence,
        )
    raise _failure(rc, stderr, evidence)


def submit_notes(stderr: str) -> tuple[str, ...]:
    """What the site said beside its answer (budgets, defaults): shown to the user as a note."""
    return tuple(line.strip() for line in stderr.splitlines() if line.strip() and not _QUEUED.search(line))


def _failure(rc: int, stderr: str, evidence: tuple[str, ...]) -> DiamondError:
    queued = _QUEUED.search(stderr)
    text = _QUEUED.sub("", stderr)
    limit = _limit(text)
    if rc == _TIMED_OUT or (UNREACHABLE.search(text) and not limit):
        return _may_be_queued(text, evidence)
    refusal = next((known for known in _REFUSALS if known.pattern.search(text)), None) or _unlisted(rc, text, limit)
    if refusal is None:
        return _may_be_queued(text, evidence)
    count = f" ({queued.group(1)} of yours are in the queue)" if queued else ""
    words = limit or _said(text)
    told = "." if words in refusal.sentence or refusal.code == "SiteRule" else f' (Slurm says: "{words}").'
    return SubmitRefused(
        refusal.sentence.replace("{queued}", count) + told,
        permanent=refusal.permanent,
        reason_code=limit or refusal.code,
        evidence=evidence,
    )


def _unlisted(rc: int, text: str, limit: str) -> _Refusal | None:
    """A refusal that no rule knows; None when it is not sure that the scheduler said no."""
    anything = re.compile("")
    if _CONTROLLER_SAID_NO in text:
        if limit or "accounting/QOS policy" in text:
            sentence = "The site's policy does not allow it now{queued}"
            return _Refusal("Policy", anything, sentence, permanent=False)
        own = _site_words(text)
        if own:
            return _Refusal("SiteRule", anything, f"The site's own rules refuse it: {own}", permanent=True)
        return _Refusal("Refused", anything, "Slurm did not take the job", permanent=True)
    if rc == _NO_COMMAND:
        return _Refusal("NoSbatch", anything, "The sbatch command is not there", permanent=True)
    if re.search(r"^sbatch: (error|fatal|unrecognized|invalid|option)", text, re.MULTILINE):
        return _Refusal("BadRequest", anything, "sbatch does not understand the job script", permanent=True)
    return None


def _limit(text: str) -> str:
    """The scheduler's own word for a limit, from a line that holds nothing else."""
    found = re.search(r"error: ((?:Assoc|QOS|Max|Partition|Account|Invalid)[A-Za-z]+)\s*$", text, re.MULTILINE)
    return found.group(1) if found else ""


def _said(text: str) -> str:
    lines = [_NOISE.sub("", line.strip()) for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "no word of explanation"
    return last.removeprefix(_CONTROLLER_SAID_NO)[:300]


def _site_words(text: str) -> str:
    """What a site's submit filter said in its own words, before Slurm's ``Unspecified error``."""
    lines = [_NOISE.sub("", line.strip()) for line in text.splitlines() if line.strip()]
    own = [line for line in lines if _CONTROLLER_SAID_NO not in line]
    return own[-1][:300].rstrip(".") if own else ""


def _may_be_queued(text: str, evidence: tuple[str, ...]) -> SchedulerError:
    return SchedulerError(
        f"Slurm did not answer the submission ({_said(text)}). The job may be queued, so it is looked for before it is "
        "sent again.",
        transient=True,
        evidence=evidence,
    )


_STARTS = re.compile(r"\bto start at (\S+)")


def expected_wait(text: str, *, clock: int) -> float | None:
    """Seconds from the site's ``clock`` to the start that ``sbatch --test-only`` names; None where it names none.

    The moment is in seconds since 1970, or in UTC where a version keeps its own form (B16).
    """
    found = _STARTS.search(text)
    if found is None:
        return None
    try:
        at = float(found[1]) if found[1].isdigit() else datetime.fromisoformat(found[1] + "+00:00").timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, at - clock)
