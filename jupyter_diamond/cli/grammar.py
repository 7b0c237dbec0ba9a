"""What may be written on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from jupyter_diamond import __version__
from jupyter_diamond.engine.endpoint_setup import NAME, VENV
from jupyter_diamond.notebook.data_verbs import DATA_ABOUT, TRANSFER_ABOUT, add_data_words, add_transfer_words
from jupyter_diamond.notebook.needs import add_needs
from jupyter_diamond.notebook.options import add_draft, positive
from jupyter_diamond.notebook.receipt_options import add_export, add_fetch

DONE, FAILED, USAGE, NO_SERVER, NOT_FOUND, NOT_YET = 0, 1, 2, 3, 4, 5
_STATUSES = f"""\
Exit status: {DONE} done; {FAILED} not done, or a check failed, or nothing is idle; {USAGE} the line is wrong;
{NO_SERVER} no Jupyter server with Diamond was found; {NOT_FOUND} no such task or site;
{NOT_YET} it was waited for as long as was said.

All verbs ask your running Jupyter server; doctor, init-sites, auth, login and logout work without one, too;
endpoint-setup, import and skill ask none. With several, the one that advances your tasks is asked. DIAMOND_SERVER_URL
and DIAMOND_SERVER_TOKEN name another one.
"""


class Verb(NamedTuple):
    """One verb. ``arguments`` are (flags, keywords for argparse)."""

    name: str
    about: str
    arguments: tuple[tuple[tuple[str, ...], dict[str, object]], ...] = ()


def _arg(*flags: str, **how: object) -> tuple[tuple[str, ...], dict[str, object]]:
    return flags, how


_SITE = _arg("site", metavar="SITE", help="a site's name")
_TASK = _arg("task", metavar="T", help="a task's name (the newest of that name; fit[3] for one of a group) or id")
_PROPOSAL = _arg("proposal", metavar="P", help="a proposal's id; jupyter diamond proposals lists them")
_EITHER = _arg("task", metavar="T", help="the name or id of a task, of a group, or of one of a group: fit[3]")
VERBS: tuple[Verb, ...] = (
    Verb("doctor", "Which set-up step is missing: one line a check, with what to do."),
    Verb("init-sites", "Write a commented sites.yaml where none is yet; never overwrites one."),
    Verb("auth", "Who you are to Globus, how, until when, and where the tokens lie."),
    Verb(
        "login", "Log in to Globus: prints a link, and reads the code that its page shows from the terminal.",
        (_arg("--web", action="store_true", help="come back through the browser; needs an application of yours"),),
    ),
    Verb("logout", "Revoke the Globus login and delete its tokens."),
    Verb(
        "endpoint-setup",
        "Make a login node an endpoint of yours for Globus Compute, over your ssh; again: bring it up to date.",
        (
            _arg("host", metavar="HOST", nargs="?", help="as you write it for ssh, or a site with transport: ssh"),
            _arg("--name", default=NAME, metavar="NAME", help=f"the endpoint's name ({NAME})"),
            _arg("--venv", default=VENV, metavar="DIR", help=f"the Python environment there ({VENV})"),
            _arg("--python", metavar="EXE", help="the Python there, 3.10 or newer, that makes the environment"),
            _arg("--site", metavar="SITE", help="its name in the site catalogue; default: the machine's or the host's"),
            _arg("--account", metavar="A", help="the allocation that pays, for the lines of the site catalogue"),
            _arg("--write", action="store_true", help="write the site into the catalogue without asking"),
            _arg("--move", action="store_true", help="take the agent over from another login node"),
            _arg(
                "--client-credentials", action="store_true",
                help="an application owns the endpoint: GLOBUS_COMPUTE_CLIENT_ID and _SECRET of this environment are "
                "kept there, readable by you alone",
            ),
            _arg("--dry-run", action="store_true", help="look, and say what would be done"),
            _arg("--print", action="store_true", help="print the script, to run it there by hand"),
        ),
    ),
    Verb("status", "Who serves, who advances work, and how the sites and your tasks are."),
    Verb("endpoints", "Your sites and what they are: transport, scheduler, cluster, user."),
    Verb(
        "resources", "Every partition: free and total, waiting, yours, limit, age.",
        (
            _arg("--site", metavar="SITE", help="this site only"),
            _arg("--refresh", action="store_true", help="ask the sites now"),
        ),
    ),
    Verb(
        "idle", "Where such a job could start now; what is not known stands apart.",
        (_arg("--refresh", action="store_true", help="ask the sites now"),),
    ),
    Verb(
        "history", "What was free at a site and who waited there, over time.",
        (_SITE, _arg("--hours", type=positive, default=24, metavar="N", help="the last N hours (24)")),
    ),
    Verb("forecast", "How near the forecast waits were to the real ones, site by site."),
    Verb(
        "charges", "What your tasks cost by site, account and unit: predicted, reserved, actual; what your caps leave.",
        (
            _arg("--days", type=positive, default=7, metavar="N", help="the last N days (7)"),
            _arg("--tasks", action="store_true", help="a line an attempt"),
        ),
    ),
    Verb(
        "tasks", "Your tasks, newest first.",
        (
            _arg("--active", action="store_true", help="only those that have not ended"),
            _arg("--limit", type=int, default=20, metavar="N", help="at most N (20)"),
            _arg("--group", metavar="G", help="all members of this group instead, by their number"),
        ),
    ),
    Verb("task", "One task: state, why it is where it is, each attempt and why, and what happened.", (_EITHER,)),
    Verb(
        "groups", "Your arrays and sweeps, newest first: how many of each have ended, and where.",
        (
            _arg("--active", action="store_true", help="only those that have not ended"),
            _arg("--limit", type=int, default=20, metavar="N", help="at most N (20)"),
        ),
    ),
    Verb(
        "group", "One group: counts, rounds, places, and which members failed of what.",
        (_arg("group", metavar="G", help="a group's name (the newest of that name) or id"),),
    ),
    Verb("explain", "The stored decision: why a task went where it went, and what stood against the others.", (_TASK,)),
    Verb(
        "verdict", "Whether a task did what was asked, with the evidence: status 0 for yes, 1 for no, 5 for unknown.",
        (_EITHER,),
    ),
    Verb(
        "manifest", "The receipt of a task: where it ran, how it ended, what it took, what it left.",
        (_TASK, _arg("--attempt", type=positive, metavar="N", help="of this attempt; default: the newest")),
    ),
    Verb("files", "The files that a task or a group left, with size, media type and digest.", (_EITHER,)),
    Verb("fetch", "Bring files of a task or a group that patterns name; what is here already is not sent.", (_EITHER,)),
    Verb("export", "Write a task or a group as an RO-Crate, which other people and programs can read.", (_EITHER,)),
    Verb(
        "logs", "A job's log.",
        (
            _TASK, _arg("--tail", type=int, metavar="N", help="the last N lines"),
            _arg("--follow", action="store_true", help="print it live until the task ends"),
        ),
    ),
    Verb("cancel", "Ask the site of a task, or the sites of a group, to end it.", (_EITHER,)),
    Verb(
        "replan", "Plan a task anew that has not started; where another place is better, its waiting job moves there.",
        (_EITHER, _arg("--unpin", action="store_true", help="not bound to the place that you had named")),
    ),
    Verb("hold", "Submit nothing of a task that has not started, until it is released.", (_EITHER,)),
    Verb("release", "Let a held task go on.", (_EITHER,)),
    Verb(
        "wait", "Wait until a task has ended: status 0 when it ended well, 1 when it did not, 5 when not in time.",
        (
            _EITHER, _arg("--for", dest="how_long", metavar="TIME", help="no longer than this: 90s, 10m, 1h"),
            _arg(
                "--until", default="ended", metavar="WHAT",
                help="ended (default), running, or a pattern: until a line of its log has it",
            ),
        ),
    ),
    Verb(
        "proposals", "What agents propose and waits for your word; one of them with its script and what it would cost.",
        (
            _arg("proposal", metavar="P", nargs="?", help="this one, with all that an approval is bound to"),
            _arg("--all", action="store_true", help="also those that were answered"),
        ),
    ),
    Verb(
        "approve", "Say yes to a proposal: it is shown, you are asked, and it is done at once, just as it was shown.",
        (_PROPOSAL,),
    ),
    Verb("deny", "Say not now to a proposal.", (_PROPOSAL, _arg("--reason", metavar="WHY", help="why, for the agent"))),
    Verb("budgets", "What agents may use without asking each time, and what was taken of it."),
    Verb(
        "budget", "Allow agents so much beforehand, or revoke it.",
        (
            _arg("what", choices=("set", "revoke"), help="set a new one; revoke B"),
            _arg("budget", metavar="B", nargs="?", help="which one to revoke"),
            _arg("--amount", action="append", metavar="AMOUNT", help="'2 GPU-hours'; repeat for other units"),
            _arg("--jobs", type=positive, metavar="N", help="at most N jobs"),
            _arg("--bytes", type=positive, metavar="N", help="at most N bytes put at sites"),
            _arg("--tokens", type=positive, metavar="N", help="at most N tokens of a language model"),
            _arg("--site", metavar="SITE", help="at this site only"),
            _arg("--agent", metavar="NAME", help="for this agent only"),
            _arg("--channel", metavar="C", help="in this conversation only, as jupyter diamond proposals names it"),
            _arg("--per-day", action="store_true", help="so much in any 24 hours, not in all"),
            _arg("--for", dest="how_long", default="1d", metavar="TIME", help="for how long: 8h, 3d (1d); at most 7d"),
        ),
    ),
    Verb(
        "agents", "Whether agents may act at all; off: nothing is done for them, and jobs that run go on.",
        (_arg("switch", choices=("on", "off"), nargs="?", help="let them, or not"),),
    ),
    Verb(
        "audit", "What was proposed, approved, done and refused, by whom: one line of JSON each.",
        (_arg("--verify", action="store_true", help="whether a line was changed, removed or put in"),),
    ),
    Verb(
        "events", "What happened, to one task or to all, oldest first.",
        (
            _arg("task", metavar="T", nargs="?", help="the name or id of a task or group; all when left out"),
            _arg("--limit", type=int, default=50, metavar="N", help="the newest N (50)"),
        ),
    ),
    Verb(
        "import", "An #SBATCH script as a cell: what is kept, mapped, approximated, dropped or unsupported, and why.",
        (
            _arg("file", metavar="FILE", help="the script: job.sh"),
            _arg("--site", metavar="SITE", help="the site that it was written for: its partition is kept"),
        ),
    ),
    Verb(
        "draft", "A proposed line for code: from words, what the same code took before, and the code; nothing is sent.",
        (
            _arg("file", metavar="FILE", help="a script, a notebook, or - for what comes on stdin"),
            _arg("--lang", choices=("python", "bash"), help="its language; default: by its name, else python"),
        ),
    ),
    Verb("data", DATA_ABOUT),
    Verb("transfer", TRANSFER_ABOUT),
    Verb("env", "Facts of a site's login node: host, work folder, Python, modules, containers, accounts.", (_SITE,)),
    Verb(
        "exec", "Look around at a site with one program that only reads: at most 20 s and 32 KiB, no shell between.",
        (_SITE, _arg("command", metavar="CMD", help='one program with its words, in quotes: "squeue -u me"')),
    ),
    Verb(
        "put-file", "Put one file of at most 2 MB into a site's work folder.",
        (
            _SITE, _arg("local", metavar="LOCAL", help="the file here"),
            _arg("--to", metavar="NAME", help="its name there; default: the same"),
            _arg("--replace", action="store_true", help="replace a file that is there already"),
        ),
    ),
    Verb(
        "preflight", "Try each site for real, with a clock: probe, work folder, interpreter, account.",
        (_arg("site", metavar="SITE", nargs="*", help="these sites; all when left out"),),
    ),
    Verb(
        "smoke", "Run one real job of 1 CPU and at most 5 minutes, and verify it through the site's accounting.",
        (
            _SITE, _arg("--yes", action="store_true", help="do not ask first"),
            _arg("--wait", type=int, default=120, metavar="S", help="cancel it if it has not started after S s (120)"),
        ),
    ),
    Verb(
        "tools", "The tools that agents have: all, or what one takes.",
        (_arg("name", metavar="NAME", nargs="?", help="one tool, with its parameters"),),
    ),
    Verb(
        "tool", "Call a tool as an agent would: what changes something needs your approval first.",
        (
            _arg("name", metavar="NAME", help="the tool"),
            _arg("arguments", metavar="KEY=VALUE", nargs="*", help="gpus=1-4 time=2h; source=@fit.py reads a file"),
            _arg("--as", dest="as_agent", default="cli", metavar="AGENT", help="who calls (cli)"),
        ),
    ),
    Verb(
        "skill", "SKILL.md, which teaches an agent to work here: printed, or written into a folder of skills.",
        (_arg("--write", metavar="FOLDER", help="write FOLDER/jupyter-diamond/SKILL.md and reference.md"),),
    ),
)  # fmt: skip


_MORE: dict[str, tuple[Callable[[argparse.ArgumentParser], None], ...]] = {
    "draft": (add_draft, add_needs), "idle": (add_needs,), "data": (add_data_words,), "transfer": (add_transfer_words,),
    "fetch": (add_fetch,), "export": (add_export,),
}  # fmt: skip
"""What some verbs share with the magics of their name."""


def parser() -> argparse.ArgumentParser:
    """The whole grammar."""
    whole = argparse.ArgumentParser(
        prog="jupyter diamond", description="All your cluster allocations as one pool, from the command line.",
        epilog=_STATUSES, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    whole.add_argument("--version", action="version", version=f"jupyter_diamond {__version__}")
    verbs = whole.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        made = verbs.add_parser(
            verb.name, help=verb.about, description=verb.about, epilog=_STATUSES, allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        for flags, how in verb.arguments:
            made.add_argument(*flags, **how)  # type: ignore[arg-type]  # argparse's many keywords, from a table
        for add in _MORE.get(verb.name, ()):
            add(made)
        made.add_argument("--json", action="store_true", help="answer with one JSON document")
    return whole
