"""The names inside an attempt's folder at a site: the one contract between kernel, server, job script and runner.

::

    <workdir>/attempts/<token>/      0700
      bundle.tar      sealed inputs from the kernel: spec.json, values/, modules/
      runner.py       what runs the cell (cell/runner/diamond_runner.py)
      key             the attempt's HMAC key, hex, 0600
      job.sh          the batch script
      submit.K.intent made before the scheduler is called for the K-th time, never overwritten
      submit.K.void   the same, renamed: the inputs found no room, and the scheduler was not called
      submit.K.out    what the scheduler's submit command printed, with submit.K.err
      submit.K.rc     its exit status, written after it answered: with submit.K.out the record of the submission
      claim           a link to the id of the job that made it when it started: a second job of the token ends at once;
                      to "fenced" when the attempt was closed without a job: one that comes late ends at once, too
      started.json    {"at": epoch, "host": ..., "pid": ..., "native": ...}
      warned          there once the time limit is near
      job.out         stdout and stderr of the job, live
      outputs.jsonl   what the cell showed, one nbformat output a line, in order
      result/         one file a returned variable
      files.jsonl     the files that it was asked to leave, one a line; only where the receipt has no room for them
      manifest.json   the receipt; written to a temporary name, then renamed
      end.json        written last, likewise

    <workdir>/attempts/<token of a job array>/    0700: what its members share
      bundle.tar runner.py key job.sh submit.K.*    as above, for all of them
      members         a line a member: its place in the array, and its number in the group
      <place>.out     stdout and stderr of a member's job, live, which the scheduler opens before the job runs
      <place>/        the folder of a member's attempt, made by its job: its claim, and all that comes after it

    <workdir>/checkpoints/<token of the task's first attempt>/    what its attempts saved, each under a name of its own;
                      names with a dot in front are under way
"""

from __future__ import annotations

from pathlib import PurePosixPath

BUNDLE = "bundle.tar"
RUNNER = "runner.py"
KEY = "key"
JOB_SCRIPT = "job.sh"
MEMBERS = "members"
CLAIM = "claim"
FENCED = "fenced"
"""Where the claim leads when nothing of the attempt may run any more: no job is named so."""
STARTED = "started.json"
WARNED = "warned"
LOG = "job.out"
OUTPUTS = "outputs.jsonl"
RESULT = "result"
FILES = "files.jsonl"
MANIFEST = "manifest.json"
END = "end.json"

EXIT_NO_MODULES = 81
"""The job head could not start environment modules (B22)."""
EXIT_NO_PYTHON = 82
"""The site's interpreter is missing or too old."""
EXIT_CLAIMED = 83
"""Another job with the same token has started already."""
EXIT_BAD_BUNDLE = 84
"""The inputs do not have the digest that was given at submit."""
EXIT_MISSING_IMPORT = 85
"""A module that the cell imports is not installed at the site."""
EXIT_CONTINUED = 86
"""The cell left off by itself, to be continued from its checkpoint."""
EXIT_NO_CLAIM = 87
"""The job could not write into its folder: it has neither made the claim nor met another one."""


def submission(k: int, part: str) -> str:
    """A file of the K-th submission: ``intent``, ``out``, ``err`` or ``rc``."""
    return f"submit.{k}.{part}"


def attempt_folder(workdir: str, token: str) -> str:
    """The folder of one attempt below the site's workdir."""
    return str(PurePosixPath(workdir) / "attempts" / token)


def member_log(at: int | str) -> str:
    """The log of a member of a job array, in the array's folder; in its own folder is a link to it."""
    return f"{at}.out"


def member_folder(array_folder: str, at: int) -> str:
    """The folder of an attempt that is a member of a job array."""
    return f"{array_folder}/{at}"


def array_folder(folder: str) -> str:
    """The folder of a job array, by that of one of its members."""
    return str(PurePosixPath(folder).parent)


def checkpoints(folder: str, token: str) -> str:
    """The folder of a task's checkpoints, beside the attempts of which ``folder`` is one. ``token``: the first's."""
    parent, *further = PurePosixPath(folder).parents
    above = further[0] if parent.name == "attempts" else further[1]  # a member's is one deeper
    return str(above / "checkpoints" / token)
