"""What a launch sheet says, as a line and an envelope; and its text as a task's request."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone

from jupyter_diamond.cell.from_source import request_of
from jupyter_diamond.errors import DiamondError, InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.launch import LaunchForm, LineForm, LineRead
from jupyter_diamond.model.task import Submitted, TaskRequest
from jupyter_diamond.parsing.envelopes import envelope_words
from jupyter_diamond.parsing.environments import is_file
from jupyter_diamond.parsing.fields import read_fields
from jupyter_diamond.parsing.task_names import check_name, check_outputs, names
from jupyter_diamond.sites.gpus import check_gpus

Live = Callable[[], Iterable[str]]


class Launches:
    """The service's room for the launch sheet."""

    def __init__(
        self,
        links: Mapping[str, object],
        kinds: Live,
        submit: Callable[[TaskRequest, bytes], Awaitable[Submitted]],
    ) -> None:
        self._links, self._kinds, self._submit = links, kinds, submit

    async def read(self, form: LineForm) -> LineRead:
        """What the fields say; nothing is started, and no site is asked."""
        return read_line(form, self._kinds, self._links.__getitem__)

    async def launch(self, form: LaunchForm) -> Submitted:
        """Take source text as a task. Raises InvalidRequest, CaptureRefused, and what a submission raises."""
        request, bundle = await asyncio.to_thread(text_task, form)
        return await self._submit(request, bundle)


def read_line(form: LineForm, live: Live = tuple, site: Callable[[str], object] = str) -> LineRead:
    """What was understood, and a sentence for each field that is wrong.

    ``live`` tells the kinds of GPU there are; ``site`` raises a DiamondError for a name that no site has.

    A file of requirements is read where the cell is run: it stands in the line, and not in the envelope.
    """
    options = dict(form.options)
    file = options.pop("env") if form.in_cell and is_file(options.get("env", "").strip()) else ""
    envelope, problems = read_fields(options, now=datetime.now(timezone.utc))
    if envelope is not None:
        problems |= _against_pool(envelope, live, site)
    right = envelope if not problems else None
    outputs = _outputs(form, problems)
    if problems or right is None:
        return LineRead(envelope=right, problems=problems)
    words = ["%%diamond_submit", form.name.strip()]
    words += ["--lang", form.language] if form.language != "python" else []
    words += ["--out", ",".join(outputs)] if outputs else []
    words += [*envelope_words(right), *(["--env", file.strip()] if file else [])]
    return LineRead(envelope=right, line=" ".join(map(shlex.quote, words)))


def _against_pool(envelope: Envelope, live: Live, site: Callable[[str], object]) -> dict[str, str]:
    """What the pool has to say of it: kinds of GPU that nobody has heard of, sites that are not there."""
    plain = envelope.model_copy(update={"gpu_memory_bytes": None})
    said = {
        "gpu-model": _refusal(lambda: check_gpus(plain, live)),
        "gpu-memory": _refusal(lambda: check_gpus(envelope, live)),
        "site": _refusal(lambda: envelope.site and site(envelope.site)),
        "sites": _refusal(lambda: [site(name) for name in envelope.sites]),
    }
    if said["gpu-model"]:
        said["gpu-memory"] = ""
    return {field: sentence for field, sentence in said.items() if sentence}


def _refusal(ask: Callable[[], object]) -> str:
    try:
        ask()
    except DiamondError as no:
        return no.message
    return ""


def _outputs(form: LineForm, problems: dict[str, str]) -> Sequence[str]:
    """The variables to bring back; what is wrong with them, or with the name, is put among the problems."""
    name = form.name.strip()
    outputs: tuple[str, ...] = ()
    try:
        if name:
            check_name(name)
        else:
            problems["name"] = "Give it a name: letters, digits and _, e.g. fit."
    except InvalidRequest as no:
        problems["name"] = no.message
    try:
        outputs = names([form.outputs], "--out")
        check_outputs(name, outputs)
    except InvalidRequest as no:
        problems["outputs"] = no.message
    return outputs


def text_task(form: LaunchForm) -> tuple[TaskRequest, bytes]:
    """The request and the bundle of source text. Raises InvalidRequest, CaptureRefused."""
    check_name(form.name)
    outputs = names([form.outputs], "--out")
    check_outputs(form.name, outputs)
    request, bundle = request_of(
        form.name, form.source, form.language, form.envelope, outputs=outputs, notebook=form.path
    )
    return request.model_copy(update={"client_token": form.client_token}), bundle
