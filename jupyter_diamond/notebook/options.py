"""The options of the magics: what may be written, and one sentence for whatever may not."""

from __future__ import annotations

import argparse
import builtins
import difflib
import functools
import keyword
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, cast, get_args

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.healing import Healing, Signal
from jupyter_diamond.model.task import Language
from jupyter_diamond.parsing import durations
from jupyter_diamond.parsing.envelopes import EXAMPLES, NEEDS
from jupyter_diamond.parsing.environments import is_file

from .data_verbs import DATA_ABOUT, TRANSFER_ABOUT, add_data_words, add_transfer_words
from .needs import add_needs, envelope_of
from .sweep import Sweep, add_sweep, shell_words, sweep_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
MOST_SEGMENTS = 10_000
_SIGNALS = ", ".join(get_args(Signal))
_LANGUAGES: tuple[Language, ...] = ("python", "bash")


class OptionParser(argparse.ArgumentParser):
    """An argument parser that refuses with one sentence and never leaves the kernel."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but an option that does not exist is told before anything that is missing."""
        for word in args or ():
            if re.match(r"--?[A-Za-z]", word) and word.partition("=")[0] not in self._option_string_actions:
                raise InvalidRequest(self._unknown(word))
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Called by argparse with its own words."""
        raise InvalidRequest(self._sentence(message))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Called by argparse where a program would end."""
        raise InvalidRequest(message or f"{self.prog} stopped with {status}.")

    def options(self) -> list[str]:
        """Every long option."""
        return sorted(text for action in self._actions for text in action.option_strings if text.startswith("--"))

    @property
    def takes_task(self) -> bool:
        """Whether a task is named without an option."""
        return any(action.dest == "T" for action in self._actions)

    def takes_value(self, word: str) -> bool:
        """Whether the word is an option that a value follows."""
        return any(word in action.option_strings and action.nargs is None for action in self._actions)

    def _sentence(self, message: str) -> str:
        surplus = re.match(r"unrecognized arguments: (.*)", message)
        if surplus:
            word = surplus.group(1).split()[0]
            return f"{self.prog}: {word!r} is one word too many; lists are written with commas: --in x,y."
        flag = re.match(r"argument ([^:]+): ignored explicit argument (.*)", message)
        if flag:
            return f"{self.prog}: {flag.group(1)} takes no value; leave {flag.group(2)} away."
        wanted = re.match(r"argument ([^:]+): expected one argument", message)
        if wanted:
            return f"{self.prog}: {wanted.group(1)} needs a value, e.g. {_EXAMPLES.get(wanted.group(1), '…')}."
        choice = re.match(r"argument ([^:]+): invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            choices = choice.group(3).replace("'", "")
            return f"{self.prog}: {choice.group(1)} cannot be {choice.group(2)!r}; choose one of {choices}."
        missing = re.match(r"the following arguments are required: (.*)", message)
        if missing:
            what, example = ("a script's file", "job.sh") if missing.group(1) == "FILE" else ("a task's name", "fit")
            return f"{self.prog} needs {what}, e.g. {self.prog} {example}."
        return f"{self.prog}: {message.removeprefix('argument ')}"

    def _unknown(self, word: str) -> str:
        option = word.partition("=")[0]
        meant = _AS_ELSEWHERE.get(option)
        if meant and re.split("[ ,]", meant)[0] in self.options():
            return f"{self.prog} has no option {option}; write {meant}."
        known = [text.removeprefix("--") for text in self.options()]
        close = difflib.get_close_matches(option.lstrip("-"), known, n=1, cutoff=0.5)
        hint = f"did you mean --{close[0]}?" if close else f"it takes {', '.join(self.options())}."
        return f"{self.prog} has no option {option}; {hint}"


_EXAMPLES = {
    **EXAMPLES,
    "--in": "--in x,y",
    "--out": "--out model,scores",
    "--lang": "--lang bash",
    "--array": "--array 0-99",
    "--sweep": "--sweep lr=1e-3,1e-4",
    "--at-once": "--at-once 10",
    "--first": "--first 10",
    "--next-round": "--next-round ended",
}
_AS_ELSEWHERE = {
    "--partition": "--site SITE:PARTITION", "-p": "--site SITE:PARTITION", "--queue": "--site SITE:PARTITION",
    "-c": "--cpus", "--cpus-per-task": "--cpus", "--cores": "--cpus", "-n": "--cpus", "--ntasks": "--cpus",
    "-N": "--nodes", "-t": "--time", "--walltime": "--time", "--mem-per-cpu": "--memory",
    "-G": "--gpus", "--gres": "--gpus", "--gpus-per-node": "--gpus", "-A": "--account", "-q": "--qos",
    "-i": "--in", "-o": "--out", "--constraint": "--gpu-model, --fabric or --arch",
    "-C": "--gpu-model, --fabric or --arch",
    "--cluster": "--sites", "--clusters": "--sites", "-M": "--sites", "--prefer": "--soft", "--cost": "--max-charge",
    "-a": "--array",
}  # fmt: skip
"""What schedulers and other magics call our options."""


@dataclass(frozen=True)
class SubmitOptions:
    """What a ``%%diamond_submit`` line says."""

    name: str
    envelope: Envelope
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    language: Language = "python"
    again: bool = False
    wait: bool = False
    dry_run: bool = False
    draft: Literal["", "show", "go"] = ""
    words: str = ""
    model: bool = True
    given: Mapping[str, str] = field(default_factory=dict)
    """The options of the line that say what it needs, for a draft."""
    healing: Healing = field(default_factory=Healing)
    sweep: Sweep | None = None


def idle_parser() -> OptionParser:
    """The grammar of ``%diamond idle``."""
    parser = OptionParser(
        prog="%diamond idle", add_help=False, allow_abbrev=False,
        description="Where such a job could start now; what is not known stands apart.",
    )  # fmt: skip
    add_needs(parser)
    parser.add_argument("--refresh", action="store_true", help="ask the sites now")
    return parser


def charges_parser() -> OptionParser:
    """The grammar of ``%diamond charges``."""
    parser = OptionParser(
        prog="%diamond charges", add_help=False, allow_abbrev=False,
        description="What your tasks cost by site, account and unit: predicted, reserved, actual, and what is left; a "
        "DataFrame. Units of two sites are never added up.",
    )  # fmt: skip
    parser.add_argument("--days", type=positive, default=7, metavar="N", help="what was settled in the last N days (7)")
    parser.add_argument("--tasks", action="store_true", help="a row an attempt")
    return parser


def data_parsers() -> dict[str, OptionParser]:
    """The grammar of ``%diamond data`` and ``%diamond transfer``."""
    data = OptionParser(
        prog="%diamond data", add_help=False, allow_abbrev=False, description=DATA_ABOUT,
        usage="%%diamond data [add NAME LOCATION | show NAME | check NAME | remove NAME | drop NAME SITE] [options]",
    )  # fmt: skip
    transfer = OptionParser(
        prog="%diamond transfer", add_help=False, allow_abbrev=False, description=TRANSFER_ABOUT,
        usage="%%diamond transfer [SRC DST | show X | cancel X | again X] [options]",
    )  # fmt: skip
    add_data_words(data)
    add_transfer_words(transfer)
    return {"data": data, "transfer": transfer}


@functools.cache
def submit_parser() -> OptionParser:
    """The grammar of ``%%diamond_submit``."""
    parser = OptionParser(
        prog="%%diamond_submit", add_help=False, allow_abbrev=False, usage="%%%%diamond_submit NAME [options]"
    )
    add = parser.add_argument
    add("NAME", help="the task's name; a handle of that name is put into the notebook")
    add_needs(parser)
    add("--in", metavar="NAMES", dest="inputs", action="append", default=[], help="variables that must travel: x,y")
    add(
        "--out", metavar="NAMES", dest="outputs", action="append", default=[],
        help="variables to bring back: model,scores",
    )  # fmt: skip
    add_sweep(parser)
    add("--lang", choices=_LANGUAGES, default="python", help="python (default) or bash")
    add("--again", action="store_true", help="send it even though the same cell is still active")
    _add_healing(parser)
    add("--wait", action="store_true", help="do not return before the task has ended")
    add("--dry-run", action="store_true", help="show what would travel and where it would go; send nothing")
    add(
        "--draft", nargs="?", const="show", default="", choices=("show", "go"),
        help="show a draft of the options that are not given, and the line to paste; --draft=go sends it with them",
    )  # fmt: skip
    add_draft(parser)
    return parser


def add_draft(parser: argparse.ArgumentParser) -> None:
    """What a draft is asked for beyond the options that are given."""
    parser.add_argument(
        "-d", "--describe", metavar="WORDS", default=[], nargs="+",
        help='what the work needs, in words: "two A100s, at most 4 hours, cheapest"',
    )  # fmt: skip
    parser.add_argument("--no-model", action="store_true", help="by our own rules alone, without a language model")


def draft_parser() -> OptionParser:
    """The grammar of ``%diamond draft``."""
    parser = OptionParser(
        prog="%diamond draft", add_help=False, allow_abbrev=False,
        description="A proposed line for the code below it, else for the cell before: from the words, from what the "
        "same code took before, and from the code, each option with its reason. Options that you give are kept.",
    )  # fmt: skip
    add_draft(parser)
    add_needs(parser)
    return parser


def _add_healing(parser: argparse.ArgumentParser) -> None:
    """What it may do by itself when it fails, and how it hears of its time limit."""
    add = parser.add_argument
    budget = Healing()
    add(
        "--retries", type=counted, default=budget.retries, metavar="N",
        help=f"how many attempts may follow failed ones of it ({budget.retries}); its own errors are never tried again",
    )  # fmt: skip
    add(
        "--moves", type=counted, default=budget.moves, metavar="N",
        help=f"how many times it may go on at another site ({budget.moves})",
    )  # fmt: skip
    add(
        "--segments", type=positive, default=budget.segments, metavar="N",
        help=f"into how many parts time limits may cut it ({budget.segments}): a cell that saves checkpoints and goes "
        "on from the newest, see help(jupyter_diamond.checkpoint)",
    )  # fmt: skip
    add(
        "--warn", type=warning, default=Healing(), metavar="[SIGNAL@]TIME",
        help="how long before its time limit checkpoint.warned() becomes true: 5m; default 2m, or a fifth of a short "
        "limit; 0 for never; USR1@5m to hear of it by another signal than USR2",
    )  # fmt: skip


def import_parser() -> OptionParser:
    """The grammar of ``%diamond import``."""
    parser = OptionParser(
        prog="%diamond import", add_help=False, allow_abbrev=False,
        description="An #SBATCH script as a cell to run here or elsewhere: every option kept, mapped, approximated, "
        "dropped or unsupported, with the reason. Nothing is sent.",
    )  # fmt: skip
    parser.add_argument("FILE", help="the script: job.sh")
    parser.add_argument("--site", metavar="SITE", help="the site that it was written for: its partition is kept")
    return parser


def given_options(said: argparse.Namespace) -> dict[str, str]:
    """Of the options that say what a job needs, those that were set, by their names; without a file that is here."""
    found = {name: getattr(said, name.replace("-", "_"), None) for name in NEEDS}
    return {
        name: "" if value is True else shlex.join(value) if isinstance(value, list) else str(value)
        for name, value in found.items()
        if value is not None and value is not False and not (name == "env" and is_file(str(value)))
    }


def positive(text: str) -> int:
    """How many lines or rows: for ``type=`` of an option."""
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines; write a whole number, 1 or more.")
    return int(text)


def warning(text: str) -> Healing:
    """``5m`` or ``USR1@5m``, as the part of a task's healing that it sets: for ``type=`` of an option."""
    signal, at, before = text.rpartition("@")
    if at and signal not in get_args(Signal):
        raise argparse.ArgumentTypeError(f"{signal!r} is no signal to warn with; choose one of {_SIGNALS}: USR1@5m.")
    try:
        seconds = 0 if before in ("0", "0s") else durations.parse_friendly(before)
    except InvalidRequest as no:
        raise argparse.ArgumentTypeError(f"{no.message} Or USR1@2m, or 0 for no warning.") from no
    if seconds > durations.DAY:
        raise argparse.ArgumentTypeError(f"a warning {before} before the end is too early; write at most 1d.")
    return Healing(warn_s=seconds, warn_signal=cast("Signal", signal or "USR2"))


def counted(text: str) -> int:
    """How many times: for ``type=`` of an option; none is an answer, too."""
    if not re.fullmatch(r"[0-9]{1,2}|100", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of times; write a whole number from 0 to 100.")
    return int(text)


def asks_for_help(words: list[str]) -> bool:
    """``?`` at the end, ``-h`` or ``--help`` anywhere."""
    return words[-1:] == ["?"] or not {"-h", "--help"}.isdisjoint(words)


def _check_words(said: argparse.Namespace) -> None:
    """Names that become variables here, or words of a scheduler's command there."""
    if not _NAME.match(said.NAME):
        raise InvalidRequest(
            f"{said.NAME!r} cannot be a task's name: it becomes a variable, so write letters, digits and _ only, "
            "e.g. %%diamond_submit fit."
        )
    if keyword.iskeyword(said.NAME) or hasattr(builtins, said.NAME):
        raise InvalidRequest(
            f"`{said.NAME}` is a word of Python's own, which the task's handle would hide. Give the task another name."
        )


def parse_submit(
    line: str, gpus: Callable[[], Iterable[str]] = tuple, variables: Mapping[str, Any] | None = None
) -> SubmitOptions:
    """Read a ``%%diamond_submit`` line. Raises InvalidRequest with one sentence.

    ``gpus`` tells the kinds that the sites have now; it is asked only for a kind that is not documented. ``variables``
    are the notebook's, where a sweep may have its rows.
    """
    said = submit_parser().parse_args(split(line, "%%diamond_submit"))
    _check_words(said)
    outputs = names(said.outputs, "--out")
    if said.describe and not said.draft:
        raise InvalidRequest("-d describes a draft: add --draft to see one, or --draft=go to send it.")
    if said.NAME in outputs:
        raise InvalidRequest(f"--out {said.NAME} would overwrite the task's own handle; give the task another name.")
    return SubmitOptions(
        name=said.NAME,
        envelope=envelope_of(said, gpus),
        inputs=names(said.inputs, "--in"),
        outputs=outputs,
        language=said.lang,
        again=said.again,
        wait=said.wait,
        dry_run=said.dry_run,
        draft=said.draft,
        words=" ".join(said.describe),
        model=not said.no_model,
        given=given_options(said),
        healing=said.warn.model_copy(
            update={"retries": said.retries, "moves": said.moves, "segments": min(said.segments, MOST_SEGMENTS)}
        ),
        sweep=sweep_of(said, variables or {}),
    )


def split(line: str, prog: str) -> list[str]:
    """The words of a magic's line; quotes as in a shell. ``--cpus -1`` keeps its value beside its option."""
    try:
        words = shell_words(line)
    except ValueError as fault:
        raise InvalidRequest(f"{prog}: a quote is not closed in {line.strip()!r}.") from fault
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].endswith(",") and not re.match(r"-(?![\d.])", word):  # --in x, y
            joined[-1] += word
        # argparse takes a negative amount for an option; the parser of amounts has the better sentence.
        elif re.match(r"-\d", word) and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def names(said: list[str], option: str) -> tuple[str, ...]:
    """``["a,b", "c"]`` as variable names."""
    found: list[str] = []
    for word in ",".join(said).split(","):
        name = word.strip()
        if not name:
            continue
        if not name.isidentifier():
            raise InvalidRequest(f"{option} {name!r} is not a variable name; write {option} x,y.")
        if name in found:
            raise InvalidRequest(f"{option} names {name} twice.")
        found.append(name)
    return tuple(found)
