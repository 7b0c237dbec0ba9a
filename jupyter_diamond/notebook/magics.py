"""``%diamond`` and ``%%diamond_submit``: they read a line and call; nothing else."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Literal

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class
from IPython.display import display

from jupyter_diamond.errors import DiamondError, InvalidRequest, NotFound, RemoteError
from jupyter_diamond.model.group import Group
from jupyter_diamond.sites.gpus import gpus_of

from . import api
from .charges import beside_text, charges_table, tasks_charges_table
from .completion import register
from .data_magics import data, transfer
from .explanation import Explanation
from .group_handle import GroupHandle
from .group_story import every_group_event
from .handle import TaskHandle
from .importing import imported_text, read_job
from .login_text import LoginLink, left_text, login_text
from .needs import envelope_of
from .options import (
    OptionParser,
    asks_for_help,
    charges_parser,
    data_parsers,
    draft_parser,
    given_options,
    idle_parser,
    import_parser,
    positive,
    split,
    submit_parser,
)
from .prompt import ask_code
from .receipt_magics import brought, exported, manifest
from .receipt_options import receipt_parsers
from .session import Session, start
from .tables import captured_table, events_table, idle_table, idle_text, members_table
from .text import Text
from .timeline import every_event
from .verdict_text import remark

HELP = """Your clusters as one pool.

%diamond sites            what is free, what waits, how old each number is (--refresh asks the sites now)
%diamond history SITE     what was free there and who waited, over time (--hours N; --heatmap, --pending)
%diamond forecast         how near the forecast waits were to the real ones, site by site
%diamond charges          what your tasks cost, what is reserved, what is left (--days 7, --tasks: by attempt)
%diamond wall             the whole pool, live: every site, every partition, what a job could get now
%diamond idle             where a job could start now (--gpus 2 --gpu-memory 40G --cpus 8 --memory 32G --nodes 1)
%diamond draft            a proposed line for the cell before (-d "two A100s, at most 4 hours, cheapest");
                          %%diamond draft: for the code below it
%diamond import job.sh    an #SBATCH script as a cell, every option accounted for (--site SITE keeps its partition)
%diamond tasks            your tasks, newest first (--active, --limit N)
%diamond task T           one task, by name or id: its story, and a live card; also a sweep (fit) or its member (fit[3])
%diamond logs T           the job's log (--tail N lines, --follow until it ends)
%diamond result T         what it returned; of a sweep a DataFrame, a row a member
%diamond manifest T       its receipt: where, how it ended, what it took, what it left (--attempt N)
%diamond files T          the files that it left, with size and digest
%diamond fetch T 'P'      bring the files that a pattern names: 'ckpt/*.pt' (--to FOLDER)
%diamond export T         all of it as an RO-Crate for other people (T FOLDER, --copy 100M)
%diamond cancel T         ask its site to end it
%diamond replan T         plan it anew while it waits (--unpin: not bound to the place that you had named)
%diamond hold T           submit nothing of it for now; %diamond release T lets it go on
%diamond explain T        why it went where it went (--as table: a DataFrame; --as text)
%diamond data             your data by name and where copies lie; add NAME LOCATION, show, check, remove, drop
%diamond transfer         transfers, newest first; SRC DST begins one (--wait, --dry-run); show, cancel, again X
%diamond events [T]       what happened, to one task or to all (--limit N)
%diamond auth             who you are to Globus, how, and until when
%diamond login            log in to Globus: open a link, paste its code (--web: come back through the browser)
%diamond logout           revoke that login and delete its tokens

%%diamond_submit NAME [options]   run the cell as a job;  %%diamond_submit?  lists the options
Any of them with ? after a space says more:  %diamond logs ?
"""


def _parser(name: str, about: str, *, task: bool | None = None) -> OptionParser:
    """``task`` True: it must be named; False: it may be; None: there is none."""
    parser = OptionParser(prog=f"%diamond {name}", description=about, add_help=False, allow_abbrev=False)
    if task is not None:
        parser.add_argument(
            "T",
            nargs=None if task else "?",
            help="a task's name (the newest in this notebook, else in any) or id; a sweep's, or fit[3] for a member",
        )
    return parser


def _waiting_parsers() -> dict[str, OptionParser]:
    """Of what may be asked while a task has not started."""
    found = {
        "replan": _parser(
            "replan",
            "Plan a task anew that has not started: where another place is better, its waiting job is taken back.",
            task=True,
        ),
        "hold": _parser("hold", "Submit nothing of a task that has not started until it is released.", task=True),
        "release": _parser("release", "Let a held task go on.", task=True),
    }
    found["replan"].add_argument("--unpin", action="store_true", help="not bound to the place that you had named")
    return found


def _login_parsers() -> dict[str, OptionParser]:
    """Of the login at Globus."""
    found = {
        "auth": _parser("auth", "Who you are to Globus, how, and until when."),
        "login": _parser(
            "login", "Log in to Globus: open a link, allow the access, paste the code that its page shows."
        ),
        "logout": _parser("logout", "Revoke the Globus login and delete its tokens."),
    }
    found["login"].add_argument("--web", action="store_true", help="come back through the browser")
    return found


def parsers() -> dict[str, OptionParser]:
    """The grammar of every subcommand."""
    found = {
        "sites": _parser(
            "sites", "Your sites and partitions: free and total, running and pending, age of each number."
        ),
        "wall": _parser("wall", "The whole pool, live: what is free, what waits, how old each number is."),
        "history": _parser("history", "What was free at a site and who waited there, over time; a DataFrame."),
        "forecast": _parser(
            "forecast", "How near the forecast waits were to the real ones, site by site; a DataFrame."
        ),
        "charges": charges_parser(),
        "idle": idle_parser(),
        "draft": draft_parser(),
        "import": import_parser(),
        "tasks": _parser("tasks", "Your tasks, newest first."),
        "task": _parser("task", "One task: each attempt and why, what happened, and a live card.", task=True),
        "logs": _parser("logs", "The job's log.", task=True),
        "result": _parser("result", "What the task returned; waits for it.", task=True),
        "cancel": _parser("cancel", "Ask the task's site to end it.", task=True),
        **receipt_parsers(_parser),
        **_waiting_parsers(),
        **data_parsers(),
        "explain": _parser("explain", "The stored decision: why it went where it went.", task=True),
        "events": _parser("events", "What happened, oldest first.", task=False),
        **_login_parsers(),
    }
    found["explain"].add_argument(
        "--as", dest="form", choices=("text", "table"), help="plain text, or a DataFrame of all candidates"
    )
    _past_options(found["history"].add_argument)
    found["sites"].add_argument("--refresh", action="store_true", help="ask the sites now")
    found["tasks"].add_argument("--active", action="store_true", help="only those that have not ended")
    found["tasks"].add_argument("--limit", type=positive, default=100, metavar="N", help="at most N rows (100)")
    found["logs"].add_argument("--tail", type=positive, metavar="N", help="the last N lines")
    found["logs"].add_argument("--follow", action="store_true", help="print it live until the task ends")
    found["events"].add_argument("--limit", type=positive, default=200, metavar="N", help="the newest N (200)")
    return found


def _past_options(add: Callable[..., Any]) -> None:
    add("SITE", help="a site's name")
    add("--hours", type=positive, metavar="N", help="the last N hours (24; of a figure 672)")
    add("--heatmap", action="store_true", help="a figure: how busy each hour of the week was")
    add("--pending", action="store_true", help="the same of how many jobs waited")
    add("--partition", metavar="P", help="of the figure, only this one")


def _history(said: argparse.Namespace) -> Any:
    if not (said.heatmap or said.pending):
        return api.history(said.SITE, hours=said.hours or 24)
    what: Literal["busy", "pending"] = "pending" if said.pending else "busy"
    weeks = said.hours / (7 * 24) if said.hours else 4.0
    return api.heatmap(said.SITE, weeks=weeks, what=what, partition=said.partition)


@magics_class
class DiamondMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: Any, session: Session) -> None:
        super().__init__(shell)
        self._session = session
        self._parsers = parsers()
        self._commands: dict[str, Callable[[Any], Any]] = {
            "sites": lambda said: api.sites(refresh=said.refresh),
            "wall": lambda said: self._session.wall.show(),  # noqa: ARG005 - it takes no options
            "history": _history,
            "forecast": lambda said: api.forecast(),  # noqa: ARG005 - it takes no options
            "charges": self._charges,
            "idle": self._idle,
            "draft": lambda said: self._draft(said, None),
            "import": self._import,
            "tasks": lambda said: api.tasks(active=True if said.active else None, limit=said.limit),
            "task": self._task,
            "logs": lambda said: api.task(said.T).logs(follow=said.follow, tail=said.tail),
            "result": self._result,
            "manifest": lambda said: manifest(api.task(said.T), said),
            "files": lambda said: api.task(said.T).files,
            "fetch": lambda said: brought(api.task(said.T), said),
            "export": lambda said: exported(api.task(said.T), said),
            "cancel": lambda said: api.task(said.T).cancel(),
            "replan": lambda said: api.task(said.T).replan(unpin=said.unpin),
            "hold": lambda said: api.task(said.T).hold(),
            "release": lambda said: api.task(said.T).release(),
            "data": lambda said: data(self._session, said),
            "transfer": lambda said: transfer(self._session, said),
            "explain": self._explain,
            "events": self._events,
            "auth": lambda said: Text(login_text(self._session.client.login())),  # noqa: ARG005 - it takes no options
            "login": self._login,
            "logout": self._logout,
        }

    @line_cell_magic
    def diamond(self, line: str, cell: str | None = None) -> Any:
        """Replaced by HELP when the extension is loaded."""
        command, _, rest = line.strip().partition(" ")
        if cell is not None:
            return self._said(lambda: self._above(command, rest, cell))
        if command in ("", "?", "help", "-h", "--help"):
            return Text(HELP)
        return self._said(lambda: self._run(command, rest))

    @cell_magic
    def diamond_submit(self, line: str, cell: str) -> None:
        """Replaced by the options' help when the extension is loaded."""
        from .differences import differences_table
        from .submit import DryRun, describe, submit

        if asks_for_help(line.split()):
            _show(Text(submit_parser().format_help()))
            return
        done = self._said(lambda: submit(self._session, line, cell))
        if isinstance(done, DryRun):
            _show(Text(describe(done)))
            if done.sweep is not None:
                _show(members_table(done.sweep.members))
            _show(captured_table(done.captured.captured))
            if done.differences:
                _show(differences_table(done.differences))
            _show(Explanation(done.decision))

    def _run(self, command: str, rest: str) -> Any:
        parser = self._parsers.get(command)
        if parser is None:
            raise NotFound(_no_command(command, list(self._parsers)))
        words = split(rest, parser.prog)
        if asks_for_help(words):
            return Text(parser.format_help())
        return self._commands[command](parser.parse_args(words))

    def _above(self, command: str, rest: str, cell: str) -> Any:
        """A command above code: only a draft can be about it."""
        if command != "draft":
            raise InvalidRequest(f"%%diamond {command} has no use for the code below it; write %diamond {command}.")
        words = split(rest, "%%diamond draft")
        if asks_for_help(words):
            return Text(draft_parser().format_help())
        return self._draft(draft_parser().parse_args(words), cell)

    def _draft(self, said: Any, cell: str | None) -> None:
        from .drafts import drafted_cell, of_cell, show  # reads code: not when the extension is loaded

        kept = self.shell.history_manager if self.shell is not None else None
        history = list(kept.input_hist_raw) if kept is not None else []
        words = " ".join(said.describe)
        code = cell if cell is not None else drafted_cell(history, words=words)
        asked = of_cell(
            self._session, code, words=words, given=given_options(said), model=not said.no_model
        )  # fmt: skip
        show(self._session.client.draft(asked), "%%diamond_submit NAME")

    def _result(self, said: Any) -> Any:
        handle = api.task(said.T)
        return handle.results() if isinstance(handle, GroupHandle) else handle.result()

    def _task(self, said: Any) -> Any:
        handle = api.task(said.T)
        _show(handle.timeline())
        if isinstance(handle, TaskHandle) and handle.state.terminal and (said_of_it := _remark(handle)):
            _show(Text(said_of_it))
        return handle

    def _events(self, said: Any) -> Any:
        client = self._session.client
        if said.T is not None:
            found = self._session.find(said.T)
            every = every_group_event if isinstance(found, Group) else every_event
            return events_table(every(client, found.id)[-said.limit :])
        newest = client.events(-1).cursor
        return events_table(client.events(max(0, newest - said.limit), limit=said.limit).events)

    def _idle(self, said: Any) -> Any:
        envelope = envelope_of(said, lambda: gpus_of(self._session.client.sites()))
        if said.refresh:
            self._session.client.refresh(envelope.site)
        found = self._session.client.idle(envelope)
        apart = idle_text(found)
        if apart:
            _show(Text(apart))
        return idle_table(found, datetime.now(timezone.utc))

    def _charges(self, said: Any) -> Any:
        found = self._session.client.charges(said.days, tasks=said.tasks)
        if beside := beside_text(found):
            _show(Text(beside))
        return tasks_charges_table(found) if said.tasks else charges_table(found, datetime.now(timezone.utc))

    def _explain(self, said: Any) -> Any:
        found = api.explain(said.T)
        return Text(found) if said.form == "text" else found.table() if said.form == "table" else found

    def _login(self, said: Any) -> Any:
        client = self._session.client
        start = client.begin_login("web" if said.web else "code")
        _show(LoginLink(start))
        if start.way == "web":
            return Text("The browser says when it is done; %diamond auth tells who you are.")
        return Text(login_text(client.finish_login(ask_code())))

    def _logout(self, _said: Any) -> Any:
        before = self._session.client.login()
        return Text(left_text(before, self._session.client.logout()))

    def _import(self, said: Any) -> Text:
        """The cell is put below this one, to be read before it is run."""
        found = read_job(said.FILE, said.site)
        assert self.shell is not None, "a magic has its shell"
        self.shell.set_next_input(found.cell)
        return Text(imported_text(found, said.FILE))

    def _said(self, act: Callable[[], Any]) -> Any:
        """A refusal is one sentence, without a traceback of ours; the user's own error keeps its own."""
        try:
            return act()
        except RemoteError:
            raise
        except DiamondError as fault:
            raise UsageError(fault.message) from None
        except KeyboardInterrupt:
            raise UsageError("Interrupted. The task itself goes on.") from None


def _show(answer: Any) -> None:
    display(answer)  # type: ignore[no-untyped-call]  # IPython's display has no types


def _no_command(command: str, known: list[str]) -> str:
    close = difflib.get_close_matches(command, known, n=1)
    hint = f"did you mean %diamond {close[0]}?" if close else f"there are {', '.join(known)}."
    return f"%diamond has no command {command!r}; {hint}"


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jupyter_diamond``."""
    import jupyter_diamond

    session = start(shell)
    magics = DiamondMagics(shell, session)
    DiamondMagics.diamond.__doc__ = HELP
    DiamondMagics.diamond_submit.__doc__ = submit_parser().format_help()
    shell.register_magics(magics)
    register(shell, session)
    if "diamond" not in shell.user_ns:
        shell.push({"diamond": jupyter_diamond}, interactive=False)


def _remark(handle: TaskHandle) -> str:
    """What its verdict says where that is not a plain yes; its story is shown also when the site does not answer."""
    try:
        return remark(handle.verdict.found)
    except DiamondError:
        return ""
