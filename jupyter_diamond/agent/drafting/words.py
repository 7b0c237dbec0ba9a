"""Reads a description in English: what is understood becomes options, each with the words that it came from.

It is tolerant: what it does not understand it leaves alone. Each piece of the text is read once, the most telling
phrases first, so that the GB of *80 GB per GPU* are no main memory and the hours of *20 GPU-hours* no time limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from jupyter_diamond.model.draft import Reason
from jupyter_diamond.parsing.memory import to_exact
from jupyter_diamond.sites import machines
from jupyter_diamond.sites.gpus import kinds

from .numbers import COUNT, DURATION, MEMORY, NUMBER, friendly, memory_bytes, number, seconds, span
from .pool import Pool

_OBJECTIVES = {
    "lowest_cost": r"cheapest|least expensive|lowest (?:cost|price|charge)|(?:as )?cheap(?:ly)?(?: as possible)?|"
    r"saves? (?:money|credits)",
    "earliest_start": r"start(?:s|ing)? (?:soonest|first|right away|now|immediately)|as soon as possible|asap|"
    r"shortest (?:wait|queue)|earliest start|right away|immediately",
    "earliest_completion": r"fastest|quickest|finish(?:es)? (?:first|soonest|earliest)|done (?:first|soonest)|"
    r"earliest completion|soonest",
    "least_waste": r"least waste|without waste|wast(?:e|ing) (?:little|nothing)",
}
_COUNTS = {
    "lowest_cost": "The lowest charge is what counts", "earliest_start": "The earliest start is what counts",
    "earliest_completion": "The earliest end is what counts", "least_waste": "The least waste is what counts",
}  # fmt: skip
_HOURS = r"(?:(?:gpu|node|core|cpu)[- ]?hours?|sus?\b|service units?|credits?)"
_MOST = r"(?:no more than|not more than|at most|under|less than|below|up to|max(?:imum)?(?: of)?|a? ?budget of|for)"
_LIMIT = (
    r"(?:at most|no more than|not more than|no longer than|not longer than|up to|max(?:imum)?(?: of)?|under|"
    r"less than|(?:a )?(?:time )?limit of)"
)
_RUNS = r"(?:takes?|runs?|needs?|lasts?|running)(?: for)?(?: about| around| roughly| ca\.?| some)?"
_PER_GPU = r"(?:per|on each|for each|on every|/|a|each)\s*(?:gpu|accelerator|card)"


class Words:
    """One description. ``reasons`` are the options that it gives, by name; ``notes`` what could not be made one."""

    def __init__(self, text: str, pool: Pool, now: datetime) -> None:
        self.reasons: dict[str, Reason] = {}
        self.notes: list[str] = []
        self.starts_by: tuple[datetime, str] | None = None
        self._left, self._pool, self._now = re.sub(r"\s+", " ", text[:20_000]), pool, now
        if self._left.strip():
            self._read()

    def _read(self) -> None:
        for step in (
            self._charge, self._gpu_memory, self._no_gpu, self._gpus, self._moment, self._time, self._nodes, self._cpus,
            self._memory, self._place, self._rest,
        ):  # fmt: skip
            step()
        self._per_node()

    def _take(self, pattern: str, use: Callable[[re.Match[str]], None]) -> bool:
        """Give every place that fits to ``use``, and strike it out."""
        every = list(re.finditer(pattern, self._left, re.IGNORECASE))
        for found in every:
            use(found)
        for found in reversed(every):
            self._left = f"{self._left[: found.start()]} ; {self._left[found.end() :]}"
        return bool(every)

    def _say(self, field: str, value: str, sentence: str, found: re.Match[str]) -> None:
        """The first words about a field count; later ones that differ are told."""
        words = found[0].strip()[:120]
        kept = self.reasons.get(field)
        if kept is None:
            self.reasons[field] = Reason(field=field, value=value, sentence=f"{sentence}.", evidence=f"“{words}”")
        elif kept.value != value:
            self.notes.append(f"{kept.evidence} and “{words}” say two things of {field}; the first was taken.")

    def _charge(self) -> None:
        def use(found: re.Match[str]) -> None:
            self._say("max-charge", f"{number(found['n']):g}", "It may cost no more than that", found)
            self.notes.append(
                f"{found['unit'].strip()} are compared with what each site charges in: a site with another unit counts "
                "in its own."
            )

        self._take(rf"(?:{_MOST}\s+)?(?P<n>{NUMBER})\s*(?P<unit>{_HOURS})", use)

    def _gpu_memory(self) -> None:
        def use(found: re.Match[str]) -> None:
            self._say("gpu-memory", to_exact(memory_bytes(found)), "Each GPU must have that much memory", found)

        held = r"(?:of\s+)?(?:v?ram|(?:gpu|device|video)\s+memory|memory)"
        self._take(rf"{MEMORY}\s*(?:{held}\s*)?{_PER_GPU}\b", use)
        self._take(rf"{MEMORY}\s*(?:of\s+)?(?:vram|(?:gpu|device|video)\s+memory)\b", use)
        self._take(rf"(?<=gpus )(?:with|of)\s+(?:at least\s+)?{MEMORY}\b(?:\s*(?:of memory|each))?", use)
        self._take(rf"(?<=gpu )(?:with|of)\s+(?:at least\s+)?{MEMORY}\b(?:\s*of memory)?", use)

    def _no_gpu(self) -> None:
        pattern = r"\b(?:no|without(?: an?y?)?)\s+(?:gpus?|accelerators?)\b|\bcpus?[- ]only\b|\bonly (?:on )?cpus\b"
        self._take(pattern, lambda found: self._say("gpus", "0", "It shall have no GPU", found))

    def _gpus(self) -> None:
        names = dict.fromkeys([*kinds(), *(each.casefold() for each in self._pool.gpu_models)])
        kind = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        after = r"(?:[- ]?(?P<own>\d{2,3})\s?gi?b?\b)?(?:'?s)?\b(?:\s*(?:gpus?|cards?|accelerators?)\b)?"
        many = rf"{COUNT}\s*(?:x|\u00d7|\*)?\s*(?:(?P<size>\d{{2,3}})\s?gi?b )?(?:nvidia |amd )?"
        self._take(rf"(?:{many})?\b(?P<kind>{kind}){after}", self._kind)
        bare = rf"{COUNT}\s*(?:x|\u00d7|\*)?\s*(?P<size>\d{{2,3}}\s?gi?b )?(?:gpus?|accelerators?|graphics cards?)\b"

        def use(found: re.Match[str]) -> None:
            self._say("gpus", span(found), "So many GPUs are asked for", found)
            if found["size"]:
                self._say("gpu-memory", f"{re.sub('[^0-9]', '', found['size'])}G", "Each GPU must have that", found)

        self._take(rf"{bare}(?!-?\s?hours?)", use)

    def _kind(self, found: re.Match[str]) -> None:
        before = self.reasons.get("gpu-model")
        name = found["kind"].casefold()
        if before is not None and name not in before.value.split("|"):
            both = {"value": f"{before.value}|{name}", "evidence": f"{before.evidence}, “{found[0].strip()}”"}
            self.reasons["gpu-model"] = before.model_copy(update=both)
        elif before is None:
            self._say("gpu-model", name, "That kind of GPU is asked for", found)
        memory = found["own"] or found["size"]
        if memory and "gpu-memory" not in self.reasons:
            self._say("gpu-memory", f"{memory}G", "The kind was named with its memory", found)
        if found["low"]:
            self._say("gpus", span(found), "So many GPUs are asked for", found)

    def _moment(self) -> None:
        clock = r"(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?\s*(?P<half>[ap]m)?"
        self._take(r"\bstart(?:s|ed|ing)? (?:by |before )?(?:today|tonight|this evening)\b", self._start_today)
        self._take(r"\b(?:by|until|before)\s+tomorrow(?:\s+(?:morning|noon|evening))?\b|\btomorrow\b", self._tomorrow)
        self._take(
            rf"\b(?:by|until|before)\s+(?:(?P<word>noon|midnight)|{clock})\b(?!\s*(?:gpu|cpu|core|node))", self._by
        )
        self._take(
            r"\b(?:by|done|finished|ready|results?|until|before)?\s*(?:today|tonight|end of (?:the )?day)\b",
            lambda found: self._say("deadline", "23:59", "It is wanted before the day is over", found),
        )

    def _start_today(self, found: re.Match[str]) -> None:
        midnight = self._now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        self.starts_by = (midnight, f"“{found[0].strip()}”")

    def _tomorrow(self, found: re.Match[str]) -> None:
        part = next(
            (hour for word, hour in (("morning", 9), ("noon", 12), ("evening", 18)) if word in found[0].lower()), 0
        )
        day = self._now.astimezone() + timedelta(days=1)
        at = day.replace(hour=part or 23, minute=0 if part else 59)
        self._say("deadline", f"{at:%Y-%m-%dT%H:%M}", "It is wanted by then", found)

    def _by(self, found: re.Match[str]) -> None:
        if found["word"]:
            value = "12:00" if found["word"].lower() == "noon" else "23:59"
        elif not (found["minute"] or found["half"]):
            return
        else:
            hour = int(found["hour"])
            if found["half"] and hour <= 12:
                hour = hour % 12 + (12 if found["half"].lower() == "pm" else 0)
            value = f"{hour:02d}:{found['minute'] or '00'}"
        self._say("deadline", value, "It is wanted by then", found)

    def _time(self) -> None:
        def ends(found: re.Match[str]) -> None:
            self._say("deadline", f"+{friendly(seconds(found['t']))}", "It is wanted within that time from now", found)

        def limits(found: re.Match[str]) -> None:
            self._say("time", friendly(seconds(found["t"])), "The time limit was said", found)

        def runs(found: re.Match[str]) -> None:
            length = seconds(found["t"])
            self._say("runtime", friendly(length), "How long it runs was said", found)
            self._say("time", friendly(-(-length * 5 // 2400) * 600), "A quarter more than it is said to run", found)

        length = rf"(?P<t>{DURATION})"
        self._take(
            rf"\b(?:(?:done|finish(?:ed|es)?|ready|results?|complete[sd]?)\s+(?:with)?in|within)\s+{length}", ends
        )
        self._take(rf"\b{_LIMIT}\s+{length}", limits)
        self._take(rf"\b{_RUNS}\s+{length}|\bruntime (?:of |is )?(?P<u>{DURATION})", lambda found: runs(found)
                   if found["t"] else None)  # fmt: skip
        self._take(rf"(?:\bfor\s+)?{length}(?:\s*(?:jobs?|runs?|long))?", limits)
        self._take(r"\bovernight\b", lambda found: self._say("time", "12h", "A night has that long", found))

    def _nodes(self) -> None:
        def use(found: re.Match[str]) -> None:
            self._say("nodes", span(found), "So many nodes are asked for", found)

        self._take(rf"{COUNT}\s*(?:x\s*)?(?:compute\s+|gpu\s+|cpu\s+)?nodes?\b(?!-?\s?hours?)", use)

    def _cpus(self) -> None:
        def use(found: re.Match[str]) -> None:
            self._say("cpus", span(found), "So many CPUs are asked for", found)

        self._take(rf"{COUNT}\s*-?\s*(?:cpu\s+)?(?:cores?|v?cpus?|threads?|processors?)\b(?!-?\s?hours?)", use)

    def _memory(self) -> None:
        def use(found: re.Match[str]) -> None:
            self._say("memory", to_exact(memory_bytes(found)), "So much memory is asked for", found)

        self._take(
            rf"{MEMORY}\s*(?:of\s+)?(?:(?:host|main|system|node)\s+)?(?:memory|ram|mem)\b(?:\s*(?:per|a) node)?", use
        )
        if "memory" not in self.reasons:
            self._take(rf"\b(?:memory|ram)\s*(?:of|:|=)?\s*{MEMORY}\b", use)

    def _place(self) -> None:
        mine = {name.casefold(): name for name in self._pool.sites}
        known = [*mine, *(name for name in machines.names() if name not in mine)]
        site = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True)) or r"(?!)"
        one = rf"(?P<site>{site})(?::(?P<queue>[\w.-]+))?"
        self._take(rf"\b(?:not (?:on|at|to)|except(?: for)?|but not(?: on)?|avoid(?:ing)?)\s+{one}\b", self._without)
        self._take(
            rf"(?:^|\b(?:on|at|to|use|using|only|or|and)\b|,)\s*(?:the\s+)?{one}\b", lambda found: self._at(found, mine)
        )

    def _without(self, found: re.Match[str]) -> None:
        left = [name for name in self._pool.sites if name.casefold() != found["site"].casefold()]
        if left and len(left) < len(self._pool.sites):
            self._say("sites", ",".join(left), f"All of your sites but {found['site']}", found)

    def _at(self, found: re.Match[str], mine: dict[str, str]) -> None:
        name = mine.get(found["site"].casefold())
        if name is None:
            self.notes.append(f"{found['site']} is no site of yours, so it was left out.")
            return
        before = self.reasons.get("site") or self.reasons.get("sites")
        place = f"{name}:{found['queue']}" if found["queue"] else name
        if before is None:
            self._say("site", place, "The place was named", found)
        elif name not in before.value.split(","):
            value = f"{before.value.partition(':')[0]},{name}"
            self.reasons.pop("site", None)
            said = {"field": "sites", "value": value, "sentence": "These places were named.",
                    "evidence": f"{before.evidence}, “{found[0].strip()}”"}  # fmt: skip
            self.reasons["sites"] = before.model_copy(update=said)

    def _rest(self) -> None:
        for objective, pattern in _OBJECTIVES.items():
            self._take(rf"\b(?:{pattern})\b", partial(self._say, "objective", objective, _COUNTS[objective]))
        self._take(
            r"\bpreempt[ai]bl[ey]\b|\bcan be (?:interrupted|preempted)\b|\bspot\b",
            lambda found: self._say("preemptible", "", "A place whose jobs give way will do", found),
        )
        self._take(
            r"\b(?P<runtime>apptainer|singularity|podman|docker)\b",
            lambda found: self._say("container", found["runtime"].casefold(), "That must be there", found),
        )
        self._take(
            r"\b(?P<arch>aarch64|arm64|x86_64|x86-64)\b",
            lambda found: self._say(
                "arch", "aarch64" if found["arch"][0] in "aA" else "x86_64", "Built for that processor", found
            ),
        )

    def _per_node(self) -> None:
        """GPUs of several nodes were said in sum, unless *each* or *per node* was said."""
        gpus, nodes = self.reasons.get("gpus"), self.reasons.get("nodes")
        if gpus is None or nodes is None or not (gpus.value.isdigit() and nodes.value.isdigit()):
            return
        total, count = int(gpus.value), int(nodes.value)
        if (
            count < 2
            or total % count
            or re.search(r"\b(?:each|per node|a node|every node)\b", self._left, re.IGNORECASE)
        ):
            return
        said = {"value": str(total // count), "sentence": f"{total} GPUs on {count} nodes are that many a node."}
        self.reasons["gpus"] = gpus.model_copy(update=said)
