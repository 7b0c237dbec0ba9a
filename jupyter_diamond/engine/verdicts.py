"""Reads what a verdict needs, each thing bounded, all at once; the judging itself is in ``verdict_rules``.

A verdict on what has ended is kept as long as nothing about its task changes; one that could not read everything is
made anew when it is asked for again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.groups.results import PAGE, read_results
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.results import is_result, log_path, read_log
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.jobs import JobRow
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.model.verdict import Answer, GroupVerdict, TaskVerdict
from jupyter_diamond.parsing import numbers
from jupyter_diamond.parsing.log_signs import NEEDLES, PAIRS, errors_in
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.placement import words

from .verdict_rules import LOG_BYTES, LogRead, NotKnown, Read, judge, overall

T = TypeVar("T")

MOST_FILES = 50
"""So many outputs are looked for in their folder; of further ones the receipt is believed."""
FIRST = 5
"""So many members of a group are shown that did not do what was asked."""
_KEPT = 256
_LINES, _LINE = 40, 400
"""Of each log of a group's members so many lines come, each so long."""
_MARK = "@@diamond:log"


class Verdicts:
    """Judges tasks and groups of one user. It changes nothing."""

    def __init__(self, ledger: Ledger, links: SiteLinks, *, command_s: float) -> None:
        self._ledger, self._links, self._command_s = ledger, links, command_s
        self._kept: OrderedDict[tuple[str, int, int], TaskVerdict] = OrderedDict()

    async def task(self, ref: str) -> TaskVerdict:
        """The verdict on a task's newest attempt. Raises NotFound."""
        task = await self._ledger.do(self._ledger.store.task, ref)
        kept = self._kept.get(_key(task))
        if kept is not None:
            return kept
        link, attempt = self._links[newest(task).site], newest(task)
        log, receipt, row = await asyncio.gather(
            _or_why(self._log(attempt, link)), _or_why(self._receipt(attempt, link)), _or_why(self._row(task, link))
        )
        held = await _or_why(_held(attempt, link, receipt)) if isinstance(receipt, Manifest) else NotKnown("")
        verdict = judge(task, Read(log, receipt, row, held), at=from_epoch(time.time()))
        if task.state.terminal and verdict.correct != "unknown":
            self._keep(task, verdict)
        return verdict

    async def group(self, ref: str) -> GroupVerdict:
        """The verdicts on all members of a group that have begun: one look at each site for each 500 of them."""
        group = await self._ledger.do(self._ledger.store.groups.get, ref)
        found: list[TaskVerdict] = []
        after: int | None = None
        while True:
            tasks = await self._ledger.do(self._ledger.store.groups.members, group.id, after=after, limit=PAGE)
            found += await self._page(group, tasks)
            if len(tasks) < PAGE:
                return _of_group(group, found)
            after = tasks[-1].member.index if tasks[-1].member is not None else None

    async def _page(self, group: Group, tasks: Sequence[Task]) -> list[TaskVerdict]:
        """Verdicts of these members, in their order."""
        new = [task for task in tasks if _key(task) not in self._kept]
        by_site: dict[str, list[Task]] = {}
        for task in new:
            by_site.setdefault(newest(task).site, []).append(task)
        looks = [self._look(self._links[name], group, theirs) for name, theirs in by_site.items()]
        reads = {task_id: read for look in await asyncio.gather(*looks) for task_id, read in look.items()}
        now, verdicts = from_epoch(time.time()), dict[str, TaskVerdict]()
        for task in new:
            verdicts[task.id] = judge(task, reads[task.id], at=now)
        found = [self._kept.get(_key(task)) or verdicts[task.id] for task in tasks]
        for task in new:
            if task.state.terminal and verdicts[task.id].correct != "unknown":
                self._keep(task, verdicts[task.id])
        return found

    async def _look(self, link: SiteLink, group: Group, tasks: Sequence[Task]) -> dict[str, Read]:
        """Receipts, logs and accounting of members at one site: three commands, whatever their number."""
        keys = {task.id: "" for task in tasks}
        receipts, logs, rows = await asyncio.gather(
            read_results(group.id, tasks, keys, self._links, inline_bytes=0, more=False),
            _or_why(self._logs(link, tasks)), _or_why(self._rows(link, tasks)),
        )  # fmt: skip
        manifests = {each.task_id: each.manifest for each in receipts.members}
        lacks = {each.task_id: each.why for each in receipts.missing}
        return {
            task.id: Read(
                logs if isinstance(logs, NotKnown) else logs.get(task.id, NotKnown("the site's answer was cut")),
                manifests.get(task.id) or NotKnown(words.clause(lacks.get(task.id, "it is not there yet"))),
                rows if isinstance(rows, NotKnown) else rows.get(_job_id(task), NotKnown(_NO_ROW)),
            )
            for task in tasks
        }

    async def _log(self, attempt: Attempt, link: SiteLink) -> LogRead:
        chunk = await read_log(attempt, link, offset=0, limit=LOG_BYTES, tail=LOG_BYTES)
        if not chunk.exists:
            return LogRead(None, 0)
        return LogRead(chunk.size, chunk.next_offset - chunk.offset, await asyncio.to_thread(errors_in, chunk.text))

    async def _receipt(self, attempt: Attempt, link: SiteLink) -> Manifest | NotKnown:
        if not attempt.folder or not attempt.result_ready:
            return NotKnown("it left no receipt")
        data = await link.read(f"{attempt.folder}/{files.MANIFEST}")
        if data is None:
            return NotKnown(f"its receipt is no longer in {attempt.folder}")
        return attempt_folder.parse(Manifest, data) or NotKnown("its receipt cannot be read")

    async def _row(self, task: Task, link: SiteLink) -> JobRow | NotKnown:
        rows = await self._rows(link, (task,))
        return rows.get(_job_id(task), NotKnown(_NO_ROW))

    async def _rows(self, link: SiteLink, tasks: Sequence[Task]) -> dict[str, JobRow]:
        """Accounting's rows of all these jobs, by their ids."""
        jobs = [attempt.native for task in tasks if (attempt := newest(task)).native is not None]
        if not jobs:
            return {}
        since = min(newest(task).created_at for task in tasks)
        script = link.scheduler.accounting_script([job for job in jobs if job is not None], since=since)
        done = await link.run(script, timeout_s=self._command_s)
        return {row.job.id: row for row in link.scheduler.parse_accounting(done).rows if row.places is None}

    async def _logs(self, link: SiteLink, tasks: Sequence[Task]) -> dict[str, LogRead]:
        """Of each log only the lines that may show an error."""
        paths = {path: task.id for task in tasks if (path := log_path(newest(task))) is not None}
        if not paths:
            return {task.id: LogRead(None, 0) for task in tasks}
        asked = "".join(f"{path}\n" for path in paths).encode()
        done = await link.run(logs_script(), stdin=asked, timeout_s=self._command_s)
        found = logs_of(done.out, list(paths), whole=not done.truncated and done.exit == 0)
        told = {paths[path]: read for path, read in found.items()}
        return told | {task.id: LogRead(None, 0) for task in tasks if log_path(newest(task)) is None}

    def _keep(self, task: Task, verdict: TaskVerdict) -> None:
        self._kept[_key(task)] = verdict
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


_NO_ROW = "accounting does not know its job"


def _key(task: Task) -> tuple[str, int, int]:
    return task.id, newest(task).n, task.version


def _job_id(task: Task) -> str:
    native = newest(task).native
    return "" if native is None else native.id


async def _or_why(asked: Awaitable[T]) -> T | NotKnown:
    """What was asked for, or why it cannot be read."""
    try:
        return await asked
    except DiamondError as problem:
        return NotKnown(words.clause(problem.message))
    except OSError as problem:
        return NotKnown(problem.strerror or str(problem))


async def _held(attempt: Attempt, link: SiteLink, receipt: Manifest) -> Mapping[str, int | None]:
    """How large the outputs' files are now."""
    names = [value.file for value in receipt.values if is_result(value.file)][:MOST_FILES]
    sizes = await asyncio.gather(*(link.transport.size(f"{attempt.folder}/{name}") for name in names))
    return dict(zip(names, sizes, strict=True))


def logs_script() -> str:
    """POSIX shell: of each log whose path comes in a line, its size and the lines that may show an error."""
    wanted = _any_of(NEEDLES)
    pairs = "; ".join(f"end | grep -a -i -F {_any_of((word,))} | grep -a -i -F {_any_of(also)}" for word, also in PAIRS)
    return f"""LC_ALL=C; export LC_ALL
end() {{ tail -c {LOG_BYTES} "$log" 2>/dev/null | tr '\\r' '\\n'; }}
while IFS= read -r log; do
  size=$(wc -c <"$log" 2>/dev/null) || size=
  printf '{_MARK} %s\\n' "$(printf %s "$size" | tr -d ' ')"
  [ -n "$size" ] || continue
  {{ {pairs}; end | grep -a -i -F {wanted}; }} | tail -n {_LINES} | cut -b 1-{_LINE}
done
:
"""


def _any_of(needles: Sequence[str]) -> str:
    return " ".join(f"-e {quote(needle, 'a word to look for')}" for needle in needles)


def logs_of(said: str, paths: Sequence[str], *, whole: bool) -> dict[str, LogRead]:
    """The answer to ``logs_script``, by path. What is not there when it was cut is left out."""
    parts = said.split(f"{_MARK} ")[1:]
    kept = parts if whole else parts[:-1]
    found: dict[str, LogRead] = {}
    for path, part in zip(paths, kept, strict=False):
        size, _, lines = part.partition("\n")
        if (count := numbers.whole(size)) is not None:
            found[path] = LogRead(count, min(count, LOG_BYTES), errors_in(lines))
        else:
            found[path] = LogRead(None, 0)
    return found


def _of_group(group: Group, verdicts: Sequence[TaskVerdict]) -> GroupVerdict:
    counts: Counter[Answer] = Counter(each.correct for each in verdicts)
    counts["unknown"] += max(0, group.members - len(verdicts))
    answers: dict[Answer, int] = {"yes": counts["yes"], "no": counts["no"], "unknown": counts["unknown"]}
    correct = overall(tuple(answer for answer, count in answers.items() if count))
    doubtful = sorted((each for each in verdicts if each.correct != "yes"), key=lambda each: each.correct != "no")
    parts = [f"{answers['yes']} of {words.count(group.members, 'member')} did what was asked"]
    parts += [f"{answers['no']} did not"] if answers["no"] else []
    parts += [f"of {answers['unknown']} it is not known"] if answers["unknown"] else []
    return GroupVerdict(
        group=group.id, name=group.name, members=group.members, answers=answers, correct=correct,
        sentence=f"`{group.name}`: {', '.join(parts)}.", first=tuple(doubtful[:FIRST]),
        judged_at=from_epoch(time.time()),
    )  # fmt: skip
