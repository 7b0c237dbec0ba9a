"""The scripts of a submission: *submit once*, *what became of it*, and *nothing may come of it any more*.

All are idempotent. ``submit.K.intent`` is made with noclobber before the scheduler is called for the K-th time;
``submit.K.rc`` is renamed into place after it answered. A folder with an intent and no answer means *unknown*: the job
must be looked for by its token. Once a job of the token has started, its claim is the answer to every submission.

A script may reach the site when nobody waits for it any more. So before the K-th submission is given up, its intent is
made in its place; before an attempt ends without a job, its claim is. Then neither a late script nor a late job runs
anything.

A job array is submitted by the same scripts, in the folder that its members share; each member has its own claim, in
its own folder, and the first that names a job is the answer for all. No script starts a process for every member.
"""

from __future__ import annotations

import functools
import io
import tarfile
from collections.abc import Iterable, Sequence
from importlib.resources import files as package_files
from typing import Literal

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import Value
from jupyter_diamond.parsing.jobids import ranges
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.transport.base import Completed

Fate = Literal["answered", "intent", "nothing", "no_folder", "no_space", "fenced"]
_MARK = "@@diamond:"


class SubmitAnswer(Value):
    """What a submit or peek script found. ``answer`` is the scheduler's own, when it gave one."""

    fate: Fate
    answer: Completed


@functools.cache
def runner_source() -> bytes:
    """The runner, as it is sent to a site."""
    return (package_files("jupyter_diamond.cell.runner") / "diamond_runner.py").read_bytes()


def sealed(parts: dict[str, bytes]) -> bytes:
    """A tar of the attempt's first files, all 0600."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o600
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def links(ats: Iterable[int], *, whole: bool) -> bytes:
    """A tar that closes members of an array: what is there when it is unpacked stays. ``whole``: and the array itself.

    A link is made in one step, name and content, by ``tar`` as by ``ln``; and one ``tar`` makes a thousand.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in (*(f"{at}/{files.CLAIM}" for at in ats), *((files.CLAIM,) if whole else ())):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, files.FENCED
            tar.addfile(member)
    return buffer.getvalue()


def submit_script(folder: str, submit_command: str, *, k: int, array: bool = False) -> str:
    """Stage from stdin and submit. However often the script is delivered, the K-th submission happens once.

    What does not fit on the site's disk is taken away again: half a bundle would keep the disk full. That nothing was
    submitted stays written, for a script that is delivered once more when there is room.
    """
    where = quote(folder, "the attempt folder")
    out, err, rc = (files.submission(k, part) for part in ("out", "err", "rc"))
    staged = f"{files.BUNDLE} {files.RUNNER} {files.KEY} {files.JOB_SCRIPT}"
    unpack, tidy = "tar -xf - 2>&1", f"rm -f {staged}"
    if array:
        tidy += f" {files.MEMBERS}"
    return f"""umask 077
mkdir -p -m 700 {where} && cd {where} || {{ echo {_MARK}no_folder; exit 0; }}
{_recorded(k, array=array)}
set -C; {{ true >{files.submission(k, "intent")}; }} 2>/dev/null || {{ echo {_MARK}intent; exit 0; }}; set +C
said=$({unpack}) && [ -s {files.JOB_SCRIPT} ] || {{
{tidy}; mv {files.submission(k, "intent")} {files.submission(k, "void")}
echo {_MARK}no_space; printf '%s\\n' "$said" >&2; exit 0; }}
{{ {submit_command}
}} >{out} 2>{err} </dev/null
rc=$?
echo $rc > {rc}.tmp && mv {rc}.tmp {rc}
echo {_MARK}answered; cat {out}; [ ! -s {err} ] || cat {err} >&2; exit $rc
"""


def peek_script(folder: str, *, k: int, array: bool = False) -> str:
    """What became of the K-th submission, without touching anything."""
    where = quote(folder, "the attempt folder")
    return f"""cd {where} 2>/dev/null || {{ echo {_MARK}nothing; exit 0; }}
{_recorded(k, array=array)}
if [ -e {files.submission(k, "intent")} ]; then echo {_MARK}intent; else echo {_MARK}nothing; fi
"""


def fence_script(folder: str, *, k: int, close: bool, array: bool = False) -> str:
    """What became of the K-th submission; where nothing did, nothing will.

    A K-th submission that comes late meets its intent and ends. With ``close`` also a job that comes late meets a claim
    that is not its own: nothing of the attempt will ever run. Where there is a job already, the answer names it;
    where that job is known and over, ``k`` is 0, and only another one that runs is an answer.
    """
    where = quote(folder, "the attempt folder")
    intent, rc = files.submission(k, "intent"), files.submission(k, "rc")
    recorded = _recorded(k, array=array)
    fence = f"""{recorded}
set -C; {{ true >{intent}; }} 2>/dev/null && {{ echo {_MARK}nothing; exit 0; }}
[ -e {intent} ] && echo {_MARK}intent || echo {_MARK}no_folder
"""
    if close:
        fence = f"""[ "$(cat {rc} 2>/dev/null)" = 0 ] || ln -sn {files.FENCED} {files.CLAIM} 2>/dev/null
{recorded}
echo {_MARK}no_folder
"""
    return f"""umask 077
mkdir -p -m 700 {where} && cd {where} || {{ echo {_MARK}no_folder; exit 0; }}
{fence}"""


def close_array_script(folder: str, ats: Sequence[int], *, k: int) -> str:
    """Close members of an array, whose ``links`` come on stdin; the answer is *fenced* when all of them are closed.

    Where a member has begun, or the submission was taken, the array has a job, which is the answer for all of it.
    """
    where = quote(folder, "the attempt folder")
    out, rc = files.submission(k, "out"), files.submission(k, "rc")
    return f"""umask 077
mkdir -p -m 700 {where} && cd {where} || {{ echo {_MARK}no_folder; exit 0; }}
if [ "$(cat {rc} 2>/dev/null)" = 0 ]; then echo {_MARK}answered; cat {out}; exit 0; fi
tar -xkf - 2>/dev/null
{_begun()}n=$({_claims(ats)} | grep -c -e '-> {files.FENCED}$')
if [ "$n" = {len(ats)} ]; then echo {_MARK}fenced; else echo {_MARK}no_folder; fi
"""


def claims_script(folder: str, ats: Sequence[int]) -> str:
    """Whose claims these members of an array have: where there is none, their ``links`` on stdin close them."""
    where = quote(folder, "the attempt folder")
    return f"""umask 077
mkdir -p -m 700 {where} && cd {where} || {{ echo {_MARK}no_folder; exit 0; }}
tar -xkf - 2>/dev/null
echo {_MARK}answered; {_claims(ats)}
"""


def _claims(ats: Sequence[int]) -> str:
    """List the claims of members, as links with where they lead."""
    return f"""for r in {ranges(ats).replace(",", " ")}; do
i=${{r%-*}}; while [ "$i" -le "${{r#*-}}" ]; do echo "$i/{files.CLAIM}"; i=$((i + 1)); done
done | xargs ls -ln 2>/dev/null"""


def _begun() -> str:
    """Whether a member of the array has begun: then its claim names the job."""
    return f"""set -- [0-9]*/{files.CLAIM}
if [ -L "$1" ]; then
c=$(ls -ln "$@" | sed -n 's/.* -> \\(.*\\)_[0-9]*$/\\1/p' | head -n 1)
[ -z "$c" ] || {{ echo {_MARK}answered; echo "$c"; exit 0; }}; fi
"""


def _recorded(k: int, *, array: bool = False) -> str:
    """A job that has started left its claim, which names it: that is an answer whatever became of the scheduler's own,
    and no scheduler has to remember the job.
    """
    out, err, rc, void = (files.submission(k, part) for part in ("out", "err", "rc", "void"))
    return f"""{_begun() if array else ""}if [ -L {files.CLAIM} ]; then
c=$(readlink {files.CLAIM}); [ "$c" != {files.FENCED} ] || {{ echo {_MARK}fenced; exit 0; }}
echo {_MARK}answered; echo "$c"; exit 0; fi
if [ -e {rc} ]; then echo {_MARK}answered; cat {out}; cat {err} >&2; exit "$(cat {rc})"; fi
if [ -e {void} ]; then echo {_MARK}no_space; exit 0; fi"""


def read_answer(done: Completed) -> SubmitAnswer:
    """Part our own first line from what the scheduler said."""
    first, _, rest = done.stdout.partition(b"\n")
    word = first.decode("ascii", "replace").removeprefix(_MARK)
    fates: dict[str, Fate] = {
        "answered": "answered", "intent": "intent", "nothing": "nothing", "no_folder": "no_folder",
        "no_space": "no_space", "fenced": "fenced",
    }  # fmt: skip
    # a script that died before its first line may have gone as far as the scheduler: look for the job
    fate: Fate = fates.get(word, "intent")
    return SubmitAnswer(fate=fate, answer=done.model_copy(update={"stdout": rest}))
