"""Whatever goes wrong with a model, as one kind and one sentence. A provider's own words are foreign text: cut."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from jupyter_diamond.errors import DiamondError, ModelFault, ModelProblem

_QUOTED = 200
_AGAIN = frozenset({"throttled", "failed", "dropped", "unreachable"})
"""Kinds after which the same question may be answered."""


def problem_of(error: BaseException, model: str, *, secret: str | None = None) -> DiamondError:
    """What an error of pydantic-ai or of its clients means. ``secret`` is blotted out where a provider repeats it."""
    if isinstance(error, DiamondError):
        return error
    kind, sentence, retry_after = _told(error, model)
    evidence = _quoted(f"{type(error).__name__}: {error}", secret)
    problem = ModelProblem(
        sentence if secret is None else sentence.replace(secret, "…"), kind=kind, transient=kind in _AGAIN or
        kind == "late", evidence=(evidence,), retry_after_s=retry_after,
    )  # fmt: skip
    problem.__cause__ = None  # its frames hold requests with their headers
    return problem


_Told = tuple[ModelFault, str, "float | None"]
"""Kind, sentence, and how long to wait, where that was said."""


def foreseen(error: BaseException) -> bool:
    """Whether it is an error that a model or its service can bring about; else it is a fault of a program."""
    return isinstance(error, DiamondError) or _teller(error) is not _other


def _told(error: BaseException, model: str) -> _Told:
    return _teller(error)(error, model)


def _teller(error: BaseException) -> Callable[[Any, str], _Told]:
    from pydantic_ai import exceptions as those

    cases: tuple[tuple[Any, Callable[[Any, str], _Told]], ...] = (
        ((asyncio.TimeoutError, TimeoutError, those.ModelTimeoutError), _late),
        (those.UsageLimitExceeded, _over),
        (those.ContentFilterError, _refusal),
        (those.ModelHTTPError, _by_status),
        (those.ModelConnectionError, _by_connection),
        (those.UnexpectedModelBehavior, _odd),
        (those.ModelAPIError, _unreadable),
    )
    return next((tell for kinds, tell in cases if isinstance(error, kinds)), _other)


def _late(_error: Any, model: str) -> _Told:
    return "late", f"{model} did not answer in time.", None


def _over(error: Any, model: str) -> _Told:
    number = re.search(r"request_limit of (\d+)", str(error))
    often = f"{number.group(1)} times" if number else "too often"
    return "too_long", f"{model} was asked {often} in this turn and came to no answer, so it was stopped.", None


def _refusal(_error: Any, model: str) -> _Told:
    return "refused", f"{model} refuses to answer this.", None


def _odd(error: Any, model: str) -> _Told:
    return "bad_answer", f"{model} gave no answer that can be used: {_why(str(error))}.", None


def _unreadable(_error: Any, model: str) -> _Told:
    return "bad_answer", f"What {model} answered cannot be read: it broke off, or something else answered.", None


def _other(error: Any, model: str) -> _Told:
    return "failed", f"{model} could not be asked ({type(error).__name__}).", None


def _by_status(error: Any, model: str) -> _Told:
    status = int(error.status_code)
    if status == 429:
        wait = error.retry_after
        when = f" It says to wait {wait:.0f} s." if wait else ""
        return "throttled", f"{model} has too many requests, or your quota there is used up (429).{when}", wait
    if status in (401, 403):
        return "refused_key", f"{model} does not accept the key (status {status}); set another one.", None
    if status == 404:
        return "not_configured", f"There is no model {model} at that address (404); check its name and base_url.", None
    if status >= 500:
        return "failed", f"{model} failed on its side (status {status}).", error.retry_after
    return "bad_answer", f"{model} does not take the request (status {status}).", None


def _by_connection(error: Any, model: str) -> _Told:
    if error.phase in ("connect", None) and not error.in_stream and _refused(error):
        return "unreachable", f"{model} cannot be reached; check base_url and that its server runs.", None
    return "dropped", f"The connection to {model} broke while it answered.", None


def _refused(error: BaseException) -> bool:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if type(at).__name__ in ("ConnectError", "ConnectionRefusedError", "gaierror", "ConnectTimeout"):
            return True
        at = at.__cause__ or at.__context__
    return False


def _why(text: str) -> str:
    tool = re.match(r"Tool '([\w.:-]{1,64})' exceeded", text)
    if tool:
        return (
            f"it called the tool {tool.group(1)} again and again in a way that cannot be read, or that does not exist"
        )
    if "output retries" in text or "without content" in text:
        return "it was empty, or not in the form that was asked for"
    return "it was not in the form that was asked for"


def _quoted(text: str, secret: str | None) -> str:
    text = text if secret is None else text.replace(secret, "…")
    return re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufdff]+", " ", text)[:_QUOTED]
