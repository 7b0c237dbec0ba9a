"""How an attempt is judged: six questions, each answered from what was read, with its evidence. Pure.

What could not be read is unknown, with the reason; it is never taken for a yes, and never for a no.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import Allocated, JobRow
from jupyter_diamond.model.manifest import Manifest, ResultFile
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.model.verdict import Answer, Finding, Question, TaskVerdict
from jupyter_diamond.parsing.log_signs import Shown
from jupyter_diamond.placement import words

from .heal.steps import attempts_left, moves_left

LOG_BYTES = 256 << 10
"""So much of a log's end is read."""
MEMORY_ROUNDING = 0.99
"""Schedulers count memory in their own units: a hundredth less is no other size."""
_SHOWN, _LONGEST = 10, 300


class NotKnown(NamedTuple):
    """What could not be read, and why, as a clause."""

    why: str


class LogRead(NamedTuple):
    """The signs of errors in a log's end. ``size`` None: there is no log; ``read`` is how much was looked at."""

    size: int | None
    read: int
    signs: tuple[Shown, ...] = ()


class Read(NamedTuple):
    """What was read of an attempt. ``held``: the bytes of its outputs' files as they are now, None for one gone."""

    log: LogRead | NotKnown
    receipt: Manifest | NotKnown
    row: JobRow | NotKnown
    held: Mapping[str, int | None] | NotKnown = NotKnown("nobody looked")


def judge(task: Task, read: Read, *, at: datetime) -> TaskVerdict:
    """The verdict on a task's newest attempt."""
    findings = tuple(_finding(question, task, read) for question in _QUESTIONS)
    correct = overall(tuple(each.answer for each in findings))
    return TaskVerdict(
        task=task.id, name=task.name, state=task.state, attempt=task.attempts[-1].n, correct=correct,
        sentence=_sentence(task, correct, findings), findings=findings, attempts_left=attempts_left(task),
        moves_left=0 if task.state.terminal else max(0, moves_left(task)), judged_at=at,
    )  # fmt: skip


def overall(answers: tuple[Answer, ...]) -> Answer:
    """No where one is no; yes where all are yes; else unknown."""
    return "no" if "no" in answers else "yes" if set(answers) == {"yes"} else "unknown"


class _Said(NamedTuple):
    answer: Answer
    sentence: str
    evidence: tuple[str, ...] = ()


def _finding(question: Question, task: Task, read: Read) -> Finding:
    said = _QUESTIONS[question](task, task.attempts[-1], read)
    evidence = tuple(line[:_LONGEST] for line in said.evidence if line)[:_SHOWN]
    seen = read.log.signs if question == "clean_log" and isinstance(read.log, LogRead) else ()
    signs = tuple(dict.fromkeys(each.kind for each in seen))
    return Finding(question=question, answer=said.answer, sentence=said.sentence, evidence=evidence, signs=signs)


def _accepted(task: Task, attempt: Attempt, _read: Read) -> _Said:
    if attempt.native is not None:
        return _Said("yes", f"{attempt.site} took it.", (f"job {attempt.native}",))
    if attempt.state is State.REJECTED:
        return _Said("no", f"{attempt.site} did not take it: {words.clause(attempt.cause)}.", attempt.evidence)
    if attempt.may_come or attempt.state in (State.LOST, State.SUBMIT_UNKNOWN, State.UNKNOWN):
        return _Said("unknown", f"Whether {attempt.site} has it is not known.")
    if task.state.terminal:
        return _Said("no", f"It ended before {attempt.site} was asked to take it.", (attempt.cause,))
    return _Said("unknown", f"{attempt.site} has not taken it yet.")


def _started(task: Task, attempt: Attempt, _read: Read) -> _Said:
    where = attempt.nodes or attempt.site
    if attempt.failure == "launch":
        return _Said("no", f"Its job could not begin the cell at {attempt.site}.", (*attempt.evidence, attempt.cause))
    begun = attempt.cell_started_at or attempt.started_at
    if begun is not None:
        return _Said("yes", f"It began on {where}.", (f"began {begun:%Y-%m-%dT%H:%M:%SZ}",))
    if not task.state.terminal:
        return _Said("unknown", "It has not begun yet.")
    if attempt.state is State.LOST:
        return _Said("unknown", "Whether it began is not known.")
    return _Said("no", "It never began.", (attempt.cause or attempt.raw_state or attempt.state.value,))


def _clean_log(task: Task, attempt: Attempt, read: Read) -> _Said:
    log = read.log
    if isinstance(log, NotKnown):
        return _Said("unknown", f"Its log could not be read: {log.why}.")
    if log.size is None:
        gone = "It has left no log." if attempt.started_at is not None else "It has no log, for it did not begin."
        return _Said("unknown", gone)
    if log.signs:
        kinds = ", ".join(dict.fromkeys(_KINDS[each.kind] for each in log.signs))
        return _Said("no", f"Its log shows {kinds}.", tuple(f"{each.kind}: {each.line}" for each in log.signs))
    part = "" if log.read >= log.size else f"the last {words.memory(log.read)} of "
    if not task.state.terminal:
        return _Said("unknown", f"So far {part}its log has no sign of an error.")
    said = f"There is no sign of an error in {part}its log." if log.size else "Its log is empty."
    return _Said("yes", said, (f"{log.size:,} bytes",))


_KINDS = {
    "traceback": "a Python traceback", "mpi": "an MPI abort", "gpu_memory": "that a GPU ran out of memory",
    "gpu": "a GPU error", "memory": "that memory ran out", "crash": "a crash", "not_found": "something not found",
    "nan_loss": "a loss that is no number", "disk": "a disk error", "scheduler": "an error of the scheduler",
    "killed": "that a process was killed", "error": "an error",
}  # fmt: skip


def _outputs(task: Task, attempt: Attempt, read: Read) -> _Said:
    if not task.outputs:
        return _Said("yes", "No outputs were asked for.")
    asked = words.count(len(task.outputs), "output")
    receipt = read.receipt
    if isinstance(receipt, NotKnown):
        if task.state.terminal and not attempt.result_ready and task.state is not State.LOST:
            return _Said("no", f"It left no receipt, so none of {asked} is there.")
        waits = "it has not ended" if not task.state.terminal else receipt.why
        return _Said("unknown", f"Whether {asked} came back is not known: {waits}.")
    held = read.held if not isinstance(read.held, NotKnown) else {}
    values = {value.name: value for value in receipt.values}
    told = {missing.name: missing.why for missing in receipt.missing}
    lacks = [said for name in task.outputs if (said := _lack(name, values.get(name), told.get(name), held))]
    if lacks:
        return _Said("no", f"Of {asked} {len(lacks)} {'is' if len(lacks) == 1 else 'are'} not there.", tuple(lacks))
    seen = tuple(f"{name}: {values[name].bytes:,} bytes" for name in task.outputs)
    return _Said("yes", f"{'All of ' if len(task.outputs) > 1 else 'The '}{asked} came back.", seen)


def _lack(name: str, value: ResultFile | None, why: str | None, held: Mapping[str, int | None]) -> str:
    """What is wrong with one output; empty where nothing is."""
    if value is None:
        return f"{name}: {why or 'it is not in the receipt'}"
    if value.bytes <= 0:
        return f"{name}: its file is empty"
    now = held.get(value.file, value.bytes)
    if now is None:
        return f"{name}: {value.file} is no longer there"
    return "" if now == value.bytes else f"{name}: {value.file} has {now:,} bytes, its receipt says {value.bytes:,}"


def _size(task: Task, attempt: Attempt, read: Read) -> _Said:
    row, size = read.row, attempt.size
    if attempt.started_at is None and attempt.cell_started_at is None:
        return _Said("unknown", "It has not begun yet." if not task.state.terminal else "It never ran at any size.")
    if isinstance(row, NotKnown):
        return _Said("unknown", f"What it was given is not known: {row.why}.")
    tokens = {attempt.token} | ({attempt.array.token} if attempt.array is not None else set())
    if attempt.native is not None and row.job.id != attempt.native.id:
        return _Said("no", "What was looked up is another job than this task's.", (f"job {row.job}",))
    if row.name and row.name not in tokens:
        said = f"Accounting has job {row.job} under another name, so it is not this task's."
        return _Said("no", said, (f"name: {row.name}", f"this task's: {attempt.token}"))
    if row.allocated is None:
        return _Said("unknown", f"{attempt.site} does not say what it gave the job.")
    return _compared(size, row.allocated, f"job {row.job}")


def _compared(size: Size, given: Allocated, job: str) -> _Said:
    """Less than was asked, or on another number of nodes, is another size; more is what whole nodes give."""
    asked = {
        "nodes": size.nodes, "cores": size.nodes * size.cpus, "GPUs": size.nodes * size.gpus,
        "bytes of memory": size.nodes * (size.memory_bytes or 0),
    }  # fmt: skip
    got = dict(zip(asked, (given.nodes, given.cpus, given.gpus, given.memory_bytes), strict=True))
    seen = (job, *(f"{name}: asked {asked[name]:,}, given {_number(got[name])}" for name in asked if asked[name]))
    wrong = [
        name for name, has in got.items()
        if has is not None and (has != asked[name] if name == "nodes" else has < asked[name] * _tolerance(name))
    ]  # fmt: skip
    if wrong:
        return _Said("no", f"It did not run at the size that was asked: see {' and '.join(wrong)}.", seen)
    silent = [name for name, has in got.items() if has is None and asked[name]]
    if silent:
        return _Said("unknown", f"How many {' and '.join(silent)} it was given is not known.", seen)
    return _Said("yes", "It ran at the size that was asked.", seen)


def _tolerance(name: str) -> float:
    return MEMORY_ROUNDING if name == "bytes of memory" else 1.0


def _number(amount: int | None) -> str:
    return "unknown" if amount is None else f"{amount:,}"


def _ended_well(task: Task, attempt: Attempt, read: Read) -> _Said:
    if not task.state.terminal:
        return _Said("unknown", "It has not ended.")
    exits = () if attempt.exit_code is None else (f"exit code {attempt.exit_code}",)
    if task.state is State.LOST:
        return _Said(
            "unknown", f"How it ended is not known: {words.clause(attempt.cause or 'its job was lost')}.", exits
        )
    if task.state is not State.COMPLETED:
        said = words.clause(attempt.cause) if attempt.cause else f"it is {task.state.value}"
        return _Said("no", f"It did not end well: {said}.", (*exits, *attempt.evidence))
    receipt, row = read.receipt, read.row
    if isinstance(receipt, Manifest) and receipt.outcome != "OK":  # S9: the record of the exception decides
        error = receipt.error
        said = "" if error is None else f"{error.ename}: {error.evalue}"
        return _Said("no", "Its receipt says that the cell failed.", (*exits, said))
    if isinstance(row, JobRow) and row.step_trouble:  # B11
        return _Said("no", "Its job is called completed, but a part of it is not.", (*exits, row.step_trouble))
    return _Said("yes", "It ended well.", exits)


_QUESTIONS: dict[Question, Callable[[Task, Attempt, Read], _Said]] = {
    "accepted": _accepted, "started": _started, "clean_log": _clean_log, "outputs": _outputs, "size": _size,
    "ended_well": _ended_well,
}  # fmt: skip


def _sentence(task: Task, correct: Answer, findings: tuple[Finding, ...]) -> str:
    if correct == "yes":
        came = words.clause(_about(findings, "outputs"))
        return f"`{task.name}` did what was asked at {task.attempts[-1].site}: {came}, and it ended well."
    told = " ".join(each.sentence for each in findings if each.answer == correct)
    if correct == "no":
        return f"`{task.name}` did not do what was asked. {told}"
    if not task.state.terminal:
        return f"`{task.name}` is {task.state.value}: whether it does what was asked is known when it has ended."
    return f"Nothing speaks against `{task.name}`, but not all is known. {told}"


def _about(findings: tuple[Finding, ...], question: Question) -> str:
    return next(each.sentence for each in findings if each.question == question)
