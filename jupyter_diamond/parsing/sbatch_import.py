"""A batch script for sbatch as a cell of ours: what each option becomes, and what is lost."""

from __future__ import annotations

import builtins
import keyword
import re
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import PurePath

from jupyter_diamond.errors import InvalidRequest, ParseError
from jupyter_diamond.model.imported import Fate, Imported, ImportedOption
from jupyter_diamond.model.snapshot import NO_LIMIT
from jupyter_diamond.model.task import Language

from .durations import parse_slurm, to_friendly
from .envelopes import envelope_words, read_envelope
from .runtimes import parse_deadline
from .sbatch_fates import FATES
from .sbatch_script import BatchScript, Directive, read_script
from .sbatch_sizes import SIZES, Become, sizes_of

_NAME = re.compile(r"[^\s,;|<>&$`'\"\\]+")
_EXPORT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_UNITS = {"second": "s", "minute": "m", "hour": "h", "day": "d"}


def import_script(
    text: str, *, file: str, now: datetime, site: str | None = None, is_known: Callable[[str], bool] = bool
) -> Imported:
    """The script as a task. ``site``: where it was written for, so that its partition may stay.

    ``is_known`` says whether a kind of GPU is one that a request may name. Raises InvalidRequest for what is no script,
    and for a job that cannot be asked for at all.
    """
    script = read_script(text)
    return _Import(script, file, now, site, is_known).imported()


class _Import:
    """One script on its way to a cell."""

    def __init__(
        self, script: BatchScript, file: str, now: datetime, site: str | None, is_known: Callable[[str], bool]
    ) -> None:
        self._script, self._file, self._now, self._site, self._is_known = script, file, now, site, is_known
        ours = [each for each in script.directives if each.name and each.component == 0]
        self._last = {each.name: each for each in ours}
        self._said = {name: each.value or "" for name, each in self._last.items()}
        self._words: dict[str, str] = {}
        self._fates: dict[str, Become] = {}
        self._setup: list[str] = []
        self._flags: list[str] = []
        self._language: Language = "python" if re.search(r"\bpython[0-9.]*\b", script.interpreter) else "bash"

    def imported(self) -> Imported:
        name = self._task_name()
        sizes = sizes_of(self._said, self._is_known)
        self._words |= sizes.words
        self._fates |= sizes.fates
        self._place()
        for option, read in (
            ("time", self._time), ("deadline", self._deadline), ("constraint", self._constraint),
            ("chdir", self._chdir), ("export", self._export),
        ):  # fmt: skip
            if option in self._said:
                self._fates[option] = read(self._said[option])
        self._least_time()
        self._flags += [
            f"--{ours}" for said, ours in (("wait", "wait"), ("test-only", "dry-run")) if said in self._said
        ]
        try:
            envelope = read_envelope(self._words, now=self._now)
        except InvalidRequest as problem:
            raise InvalidRequest(f"{self._file}: {problem.message}") from None
        words = envelope_words(envelope)
        language = ["--lang", "bash"] if self._language == "bash" else []
        return Imported(
            name=name, envelope=envelope, language=self._language,
            magic=_line(["%%diamond_submit", name, *language, *words, *self._flags]),
            idle=_line(["jupyter", "diamond", "idle", *words]),
            command="".join(f"{line}\n" for line in self._setup) + self._script.body,
            options=tuple(self._options()), notes=tuple(self._notes(sizes.tasks)),
        )  # fmt: skip

    def _task_name(self) -> str:
        said = self._said.get("job-name")
        word = (
            re.sub(r"[^A-Za-z0-9_]", "_", PurePath(self._file).stem if said is None else said).strip("_")[:60] or "job"
        )
        name = f"job_{word}" if word[0].isdigit() else word
        name = f"{name}_job" if keyword.iskeyword(name) or hasattr(builtins, name) else name
        if said is not None:
            same = name == said
            self._fates["job-name"] = ("kept" if same else "mapped", f"the task's name{'' if same else f': {name}'}")
        return name

    def _place(self) -> None:
        partition = self._said.get("partition")
        if self._site is not None:
            single = partition is not None and "," not in partition and _NAME.fullmatch(partition)
            self._words["site"] = f"{self._site}:{partition}" if single else self._site
            if partition is not None:
                where = self._words["site"]
                how: Become = ("kept", f"--site {where}")
                self._fates["partition"] = (
                    how if single else ("approximated", f"--site {where}: one can be named, or all")
                )
        elif partition is not None:
            why = "it is of one site, and all sites are looked at without it. To keep it: import with --site SITE"
            self._fates["partition"] = ("dropped", why)
        for name in ("account", "qos"):
            value = self._said.get(name)
            if value is None:
                continue
            if _NAME.fullmatch(value):
                self._words[name] = value
                self._fates[name] = ("kept", f"--{name} {value}; sites that do not know it are refused")
            else:
                self._fates[name] = ("unsupported", f"{value!r} is no name that a scheduler knows")

    def _time(self, text: str) -> Become:
        seconds = _seconds(text)
        if seconds is None:
            return "unsupported", f"{text!r} is no time that sbatch reads; --time is 30m now"
        if seconds == 0:
            return "unsupported", "a task always has a time limit: add --time, it is 30m now"
        self._words["time"] = to_friendly(seconds)
        return "kept", f"--time {self._words['time']}"

    def _least_time(self) -> None:
        least = self._said.get("time-min")
        if least is None:
            return
        seconds, most = _seconds(least), _seconds(self._said.get("time", ""))
        if not seconds or (most and seconds > most):
            why = f"{least!r} is no time that sbatch reads" if not seconds else "it is more than --time"
            self._fates["time-min"] = ("unsupported", why)
            return
        self._words["time"] = to_friendly(seconds) + (f"-{to_friendly(most)}" if most else "")
        self._fates["time-min"] = ("mapped", f"--time {self._words['time']}: from the least to the most useful")
        if most:
            self._fates["time"] = ("mapped", f"--time {self._words['time']}")

    def _deadline(self, text: str) -> Become:
        after = re.fullmatch(r"now\+([0-9]+)(second|minute|hour|day)?s?", text)
        word = (
            f"+{after.group(1)}{_UNITS[after.group(2) or 'second']}"
            if after
            else re.sub(r"(T?\d+:\d+):\d+$", r"\1", text)
        )
        try:
            parse_deadline(word, self._now)
        except InvalidRequest as problem:
            return "unsupported", problem.message.removeprefix("--deadline: ")
        self._words["deadline"] = word
        return "kept" if word == text else "mapped", f"--deadline {word}"

    def _constraint(self, text: str) -> Become:
        kinds = [each.strip() for each in text.split("|")]
        gpus = self._words.get("gpus", "0") != "0" and "gpu_model" not in self._words
        if gpus and all(re.fullmatch(r"[A-Za-z0-9_.-]+", each) and self._is_known(each) for each in kinds):
            self._words["gpu_model"] = "|".join(kinds)
            return (
                "approximated",
                f"--gpu-model {'|'.join(kinds)!r}: the feature is read as the kind of GPU of that name",
            )
        return (
            "unsupported",
            "features are a site's own words; say what is meant: --gpu-model, --gpu-memory, --fabric, --arch",
        )

    def _chdir(self, text: str) -> Become:
        python = self._language == "python"
        self._setup.append(f"import os; os.chdir({text!r})" if python else f"cd {shlex.quote(text)} || exit 1")
        return "mapped", "the cell's first line goes there; that folder must be at the site that gets the task"

    def _export(self, text: str) -> Become:
        named = [word for word in text.split(",") if word and word not in ("ALL", "NONE", "NIL")]
        pairs = [found for word in named if (found := _EXPORT.fullmatch(word))]
        if len(pairs) < len(named):
            lost = ", ".join(word for word in named if "=" not in word)
            return "unsupported", f"{lost or text}: the values are those of where sbatch runs; set them in the cell"
        for pair in pairs:
            name, value = pair.groups()
            python = f"import os; os.environ[{name!r}] = {value!r}"
            self._setup.append(python if self._language == "python" else f"export {name}={shlex.quote(value)}")
        if pairs:
            return "mapped", f"set at the top of the cell: {', '.join(pair.group(1) for pair in pairs)}"
        return "dropped", "the environment is that of the site, not that of where the script is sent from"

    def _options(self) -> list[ImportedOption]:
        found = [
            ImportedOption(line=each.line, written=each.written, fate=fate, sentence=_ended(sentence))
            for each in self._script.directives
            for fate, sentence in (self._became(each),)
        ]
        found += [
            ImportedOption(line=line, written=written, fate="dropped", sentence=_ended(why))
            for line, written, why in self._script.ignored
        ]
        return sorted(found, key=lambda each: each.line)

    def _became(self, each: Directive) -> tuple[Fate, str]:
        if each.problem:
            return "unsupported", each.problem
        if each.component:
            part = each.component + 1
            return (
                "unsupported",
                f"part {part} of a heterogeneous job: a task is one kind of node; send the part by itself",
            )
        last = self._last[each.name]
        if last is not each:
            return "dropped", f"line {last.line} says it again, and the last one counts"
        return self._fates.get(each.name) or FATES.get(each.name) or _no_size(each.name)

    def _notes(self, tasks: int) -> list[str]:
        body, interpreter = self._script.body, self._script.interpreter
        found = []
        if not interpreter:
            found.append("Line 1 is no #!, without which sbatch refuses a script; it is read as bash.")
        elif self._language == "bash" and not re.search(r"(^|/|\s)(ba|da|k|)sh\b", interpreter):
            found.append(f"The script is for {interpreter}; a cell is Python or bash. Start that program in the cell.")
        elif self._language == "bash" and re.search(r"\s(-\w*l|--login)\b", interpreter):
            found.append("It is for a login shell: say modules: {kind: login_shell} of the site in sites.yaml.")
        if "time" not in self._words and "time" not in self._said:
            found.append("The script names no time limit, so the site's default held; here it is 30m without --time.")
        starter = re.search(r"^\s*(?:exec\s+)?(srun|mpirun|mpiexec)\b", body, re.MULTILINE)
        if starter and tasks > 1:
            found.append(
                f"{starter.group(1)} in the script finds one slot on a node, not {tasks} in all: write how many, e.g. "
                f"srun --ntasks={tasks} --ntasks-per-node={-(-tasks // self._nodes())}."
            )
        for variable, what in _VARIABLES.items():
            if variable in body:
                found.append(f"The script uses {variable}, {what}.")
        found.append("Files that the script names must be at the site that gets the task: only the cell travels.")
        return found

    def _nodes(self) -> int:
        return int(self._words["nodes"].partition("-")[0])


_VARIABLES = {
    "SLURM_ARRAY_TASK_ID": "which only an array sets: set it in the cell",
    "SLURM_SUBMIT_DIR": "which here is the task's own folder at the site, without your files",
    "SLURM_JOB_DEPENDENCY": "which is not set here",
}


def _seconds(text: str) -> int | None:
    """None where it cannot be read, 0 for no limit."""
    try:
        limit = parse_slurm(text)
    except ParseError:
        return None
    return 0 if limit is NO_LIMIT else limit if isinstance(limit, int) else None


def _no_size(name: str) -> Become:
    why = "it says nothing without the options that it belongs to" if name in SIZES else "there is no word for it here"
    return "dropped" if name in SIZES else "unsupported", why


def _line(words: Sequence[str]) -> str:
    return " ".join(word if word.startswith("%") else shlex.quote(word) for word in words)


def _ended(sentence: str) -> str:
    first = sentence if sentence.startswith("sbatch") else f"{sentence[:1].upper()}{sentence[1:]}"
    return first if first.endswith(".") else f"{first}."
