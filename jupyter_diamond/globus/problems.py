"""Whatever goes wrong with Globus, as one outcome and one sentence: what, where, what to do.

The outcome decides what happens next, so ``sent`` is False only where it is proved that nothing was taken: the service
refused, or nothing ever left this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from jupyter_diamond.errors import GlobusOutcome, GlobusProblem
from jupyter_diamond.parsing.numbers import whole

from .sources import INSTALL

if TYPE_CHECKING:
    from globus_sdk import GlobusAPIError, NetworkError

SERVICES = {"ComputeAPIError": "Globus Compute", "AuthAPIError": "Globus Auth", "TransferAPIError": "Globus Transfer"}
LOGIN = "log in: %diamond login in a notebook, the Diamond sidebar, or jupyter diamond login"
NOT_INSTALLED = f"What speaks to Globus is not installed where JupyterLab runs: {INSTALL}, then restart JupyterLab."


class LoginNeeded(Exception):
    """Only a human can go on. ``wants`` are parameters for the login, as Globus words them."""

    def __init__(self, sentence: str, wants: Mapping[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.wants = dict(wants or {})


class NotGlobus(Exception):
    """Something else answered in the service's place."""

    def __init__(self, address: str, kind: str) -> None:
        super().__init__(f"{address} answered with {kind or 'something that is not JSON'}")


class _Told(NamedTuple):
    outcome: GlobusOutcome
    sentence: str
    sent: bool = False
    transient: bool = False
    retry_after_s: float | None = None
    evidence: str = ""


def problem_of(error: Exception, doing: str, sent: bool) -> GlobusProblem:
    """What an error of an SDK means. ``doing`` completes *while …*; ``sent``: what was asked is not just a question."""
    if isinstance(error, GlobusProblem):
        return error
    told = _told(error, doing, sent)
    problem = GlobusProblem(
        told.sentence, outcome=told.outcome, sent=told.sent, transient=told.transient,
        evidence=(_line(told.evidence or f"{type(error).__name__}: {error}"),), retry_after_s=told.retry_after_s,
    )  # fmt: skip
    problem.__cause__ = error
    return problem


def again(problem: GlobusProblem) -> GlobusProblem:
    """The same, to be raised once more."""
    other = GlobusProblem(
        problem.message, outcome=problem.outcome, sent=problem.sent, transient=problem.transient,
        evidence=problem.evidence, retry_after_s=problem.retry_after_s,
    )  # fmt: skip
    other.__cause__ = problem.__cause__
    return other


def not_installed() -> GlobusProblem:
    """The extra is missing."""
    return GlobusProblem(NOT_INSTALLED, outcome="refused", sent=False)


def stopping() -> GlobusProblem:
    """The server goes."""
    said = "Diamond is stopping on this Jupyter server."
    return GlobusProblem(said, outcome="unreachable", sent=False, transient=True)


def wants_of(problem: BaseException) -> dict[str, Any]:
    """What the next login must ask for, so that what was refused passes after it."""
    for error in _chain(problem):
        if isinstance(error, LoginNeeded) and error.wants:
            return error.wants
        if type(error).__name__ in ("MissingTokenError", "UnmetScopeRequirementsError"):
            return {"resource_server": getattr(error, "resource_server", None)}
        if hasattr(error, "raw_json"):
            return _demanded(error)  # type: ignore[arg-type]  # a GlobusAPIError
    return {}


def merged(wants: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both in one login: consents add up, the rest is as it was wanted last."""
    scopes = [*wants.get("required_scopes", ()), *more.get("required_scopes", ())]
    return {**wants, **more, **({"required_scopes": list(dict.fromkeys(scopes))} if scopes else {})}


def is_over(problem: BaseException) -> bool:
    """Globus does not accept the login itself: asking again with it is asking in vain."""
    return any(
        getattr(error, "http_status", None) in ((400, 401, 403) if type(error).__name__ == "AuthAPIError" else (401,))
        for error in _chain(problem)
    )  # fmt: skip


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def _demanded(error: GlobusAPIError) -> dict[str, Any]:
    """Parameters for a login in a 403, also in the older forms: consents, policies, sessions."""
    from globus_sdk.gare import to_gare

    found = to_gare(error)
    if found is None:
        return {}
    return {name: value for name, value in found.authorization_parameters.to_dict().items() if value}


def _told(error: Exception, doing: str, sent: bool) -> _Told:
    if hasattr(error, "raw_json"):
        return _refused(error, doing, sent)  # type: ignore[arg-type]  # a GlobusAPIError
    if hasattr(error, "underlying_exception"):
        return _silent(error, doing, sent)  # type: ignore[arg-type]  # a NetworkError
    if type(error).__module__.startswith("globus_compute_sdk"):
        return _from_compute(type(error).__name__, str(error), doing)
    return _of_the_login(error) or _other(error, doing, sent)


def _of_the_login(error: Exception) -> _Told | None:
    kind, module = type(error).__name__, type(error).__module__
    if isinstance(error, LoginNeeded):
        return _Told("needs_login", str(error))
    if module.startswith("globus_sdk.token_storage") or kind == "CommandLineLoginFlowEOFError":
        return _Told("needs_login", _no_token(error))
    if module == "sqlite3" and "locked" in str(error):
        said = "The store of the Globus login is locked by another program; it is tried again."
        return _Told("unreachable", said, transient=True)
    if module == "sqlite3" or isinstance(error, OSError):
        said = f"The stored Globus login cannot be used ({_line(str(error))}): correct that, or {LOGIN}."
        return _Told("needs_login", said)
    return None


def _other(error: Exception, doing: str, sent: bool) -> _Told:
    text = str(error)
    if isinstance(error, NotGlobus) or (isinstance(error, ValueError) and "does not support indexing" in text):
        return _no_globus(doing, sent, text)
    if isinstance(error, ValueError) and "nrecognized environment" in text:
        said = (
            f"GLOBUS_SDK_ENVIRONMENT names no environment of Globus ({_line(text)}): unset it and restart JupyterLab."
        )
        return _Told("refused", said)
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("globus"):
        return _Told("refused", NOT_INSTALLED)
    if isinstance(error, KeyError) and error.args == ("exception",):
        said = f"Globus Compute has dropped the answer while {doing}: it keeps one for 30 minutes."
        return _Told("expired", said, sent=True)
    said = f"The Globus SDK failed while {doing} ({type(error).__name__}); the Jupyter server's log has the details."
    return _Told("unreachable", said, sent)


def _no_globus(doing: str, sent: bool, evidence: str) -> _Told:
    said = (
        f"A web page came in place of Globus's answer while {doing}: a gateway of this network wants a login or blocks "
        "it. Open any page in a browser on this machine, or ask for a way to globus.org."
    )
    return _Told("unreachable", said, sent, transient=True, evidence=evidence)


def _no_token(error: Exception) -> str:
    if type(error).__name__ == "ExpiredTokenError":
        return f"The Globus tokens have expired; {LOGIN}."
    if type(error).__name__ == "IdentityMismatchError":
        return "The login is of another Globus identity than the one that is logged in here; log out first."
    server = getattr(error, "resource_server", "")
    if server == "transfer.api.globus.org":
        return f"Globus Transfer was not allowed yet; {LOGIN}."
    return f"Nobody is logged in to Globus; {LOGIN}."


def _from_compute(kind: str, text: str, doing: str) -> _Told:
    """Errors of the Compute SDK itself, and of what ran at the endpoint."""
    if kind == "VersionMismatch":
        return _Told("refused", f"Globus Compute no longer speaks with this SDK ({_line(text)}): {INSTALL} --upgrade.")
    if kind in ("SerializationError", "DeserializationError"):
        said = f"The endpoint answered with a pickle while {doing}: that is not read here, as it could run code."
        return _Told("failed", said, sent=True, evidence=text)
    return _Told("failed", _why_failed(text, doing), sent=True, evidence=text[-300:])


def _why_failed(text: str, doing: str) -> str:
    if "MaxResultSize" in text:
        return f"The answer was larger than the 10 MB that Globus Compute carries, while {doing}; it is gone."
    if "WorkerLost" in text or "BrokenProcessPool" in text or "ManagerLost" in text:
        return f"The endpoint's worker died while {doing}; if it does so again, restart the endpoint."
    if "untrusted identity" in text:
        return f"The endpoint belongs to another Globus identity, and refuses yours, while {doing}."
    if "Failed to start or unexpected error" in text:
        return f"The endpoint could not start its worker while {doing}: {_line(text)}."
    last = [line for line in text.splitlines() if line.strip()][-1:] or ["it does not say why"]
    return f"It failed at the endpoint while {doing}: {_line(last[0])}."


def _refused(error: GlobusAPIError, doing: str, sent: bool) -> _Told:
    """An answer of a service that is no success."""
    service = SERVICES.get(type(error).__name__, "Globus")
    status, code, words = error.http_status, error.code or "", _line(error.message or "")
    if status == 429 or status >= 500:
        told = _later(error, service, doing, sent)
    elif service == "Globus Auth":
        told = _Told("needs_login", _no_grant(error))
    elif status == 401:
        told = _Told("needs_login", f"{service} does not accept the login any more; {LOGIN}.")
    elif status == 403 and _demanded(error):
        told = _Told("needs_login", _policy(error, service, doing))
    else:
        told = _by_status(service, status, code, words, doing)
    return told._replace(evidence=f"{service}: {status} {code} {words} (request {error.request_id or '?'})")


def _later(error: GlobusAPIError, service: str, doing: str, sent: bool) -> _Told:
    after = _seconds(error.headers.get("Retry-After"))
    if error.http_status == 429:
        said = f"{service} wants fewer requests; it is asked again later."
        return _Told("throttled", said, transient=True, retry_after_s=after)
    if (error.code or "").startswith(("ExternalError", "EndpointError")):
        said = f"The collection did not answer while {doing}: {_line(error.message or '')}."
        return _Told("offline", said, sent, transient=True, retry_after_s=after)
    said = f"{service} has an error of its own ({error.http_status}) while {doing}; it is asked again."
    return _Told("unreachable", said, sent, transient=True, retry_after_s=after)


def _by_status(service: str, status: int, code: str, words: str, doing: str) -> _Told:
    if status == 404 and code.upper().startswith("TASK"):
        return _Told("expired", f"{service} does not know the request any more while {doing}.", sent=True)
    if status == 404 and code.upper().startswith("ENDPOINT"):
        return _Told("refused", _nowhere(service, doing))
    if status == 413:
        return _Told("refused", f"It is larger than the 10 MB that {service} takes at once, while {doing}.")
    if status == 423:
        said = f"The endpoint was stopped, and says so, while {doing}: start it at the site again."
        return _Told("offline", said, transient=True)
    if status == 403:
        who = "jupyter diamond auth says who you are to Globus"
        return _Told("refused", f"{service} refuses it while {doing}: {words or 'it is not yours'}; {who}.")
    return _Told("refused", f"{service} refuses it while {doing} ({status}): {words or code or 'it does not say why'}.")


def _nowhere(service: str, doing: str) -> str:
    if service == "Globus Transfer":
        return (
            f"There is no such collection, or you may not see it, while {doing}: compare its id with what "
            "app.globus.org shows."
        )
    return (
        f"There is no such endpoint, or it is not yours, while {doing}: compare `endpoint` in sites.yaml with "
        "`globus-compute-endpoint list` at the site."
    )


def _no_grant(error: GlobusAPIError) -> str:
    said = str((error.raw_json or {}).get("error", ""))
    if said == "invalid_client":
        return (
            "Globus does not accept the client id and secret that are set (GLOBUS_COMPUTE_CLIENT_*, GLOBUS_CLIENT_* or "
            "PORTAL_CLIENT_*): correct them and restart JupyterLab."
        )
    return f"The Globus login has ended or was revoked; {LOGIN}."


def _policy(error: GlobusAPIError, service: str, doing: str) -> str:
    wants = _demanded(error)
    message = _line(str(wants.get("session_message") or ""))
    said = f": {message}. Please {LOGIN}." if message else f"; {LOGIN}."
    if wants.get("required_scopes"):
        return f"{service} wants your consent while {doing}{said}"
    if message:
        return f"{service} wants another login while {doing}{said}"
    return f"{service} wants a fresh login, as a policy of the site says, while {doing}; {LOGIN}."


def _silent(error: NetworkError, doing: str, sent: bool) -> _Told:
    """Nobody answered, or the line broke."""
    inner = error.underlying_exception
    address = re.sub(r"[?].*", "", str(getattr(getattr(inner, "request", None), "url", "") or "Globus"))
    left = sent and not _never_left(inner) and "/oauth2/" not in address
    evidence = f"{type(inner).__name__} at {address}"
    if "CERTIFICATE_VERIFY_FAILED" in str(inner):
        said = (
            f"The certificate of {address} is not trusted while {doing}: where this network looks into connections, "
            "set REQUESTS_CA_BUNDLE to its certificates."
        )
        return _Told("unreachable", said, evidence=evidence)
    what = "did not answer in time" if "Timeout" in type(error).__name__ else "cannot be reached"
    said = f"Globus {what} while {doing}; it is asked again. Jobs are not affected."
    return _Told("unreachable", said, left, transient=True, evidence=evidence)


def _never_left(inner: BaseException) -> bool:
    """No connection ever stood."""
    reason = getattr(inner.args[0], "reason", None) if inner.args else None
    names = {kind.__name__ for one in (inner, reason) if one is not None for kind in type(one).__mro__}
    return bool(names & {"ConnectTimeout", "NewConnectionError", "ConnectTimeoutError"})


def _seconds(text: str | None) -> float | None:
    seconds = whole(text)
    return None if seconds is None else float(seconds)


def _line(text: str) -> str:
    """One printable line of a foreign text, without a full stop."""
    return "".join(c if c.isprintable() else " " for c in text).strip().rstrip(".")[:300]
