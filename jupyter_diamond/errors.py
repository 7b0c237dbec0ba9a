"""Every error that jupyter_diamond raises on purpose.

::

    DiamondError                     something the user can read and act on
    ├── InvalidRequest               what was asked makes no sense; nothing was started
    │   ├── CaptureRefused           a name of the cell cannot travel to a site
    │   ├── Infeasible               no site can run it, each with its reason
    │   └── OverBudget               it could cost more than the user allows
    ├── NotFound                     no such task, site or file
    ├── Conflict                     it clashes with something that is already running
    ├── NeedsApproval                the user has to say yes first (``evidence``: the proposal's id)
    ├── ApprovalVoid                 what was approved is no longer what would happen, or the word comes too late
    ├── PolicyBlocked                agents are switched off, or this is not theirs, or not a guest's, to do
    ├── TransportError               a site could not be reached, or stopped answering (has ``outcome``)
    ├── GlobusProblem                a Globus service said no, or nothing (has ``outcome``)
    ├── DataProblem                  data could not be found, read, moved or put in its place (has ``kind``)
    ├── SchedulerError               the site's scheduler answered, but not with what we asked
    │   ├── SubmitRefused            it said no to this job (``permanent`` or for now)
    │   └── SubmitOutputUnreadable   it may have said yes: the job must be looked for
    ├── ParseError                   foreign text that does not follow its grammar
    ├── ModelProblem                 a language model gave no answer that can be used (has ``kind``)
    ├── StoreError                   the task store cannot be used
    ├── ServerUnavailable            the kernel cannot reach its Jupyter server, or our half of it
    ├── ResultUnavailable            the result is not there (yet), or is not the one that was signed
    │   └── ResultTimeout        it was waited for as long as was said
    └── RemoteError                  the user's own code raised at the site

``message`` says what happened, where, and what to do. ``transient`` decides a retry: it is True only when trying again
later may help. ``evidence`` keeps the raw lines behind the sentence.
"""

from __future__ import annotations

from typing import Any, Literal

SubmitFate = Literal["not_sent", "unknown", "refused"]
ModelFault = Literal[
    "not_configured", "not_installed", "no_key", "refused_key", "unreachable", "late", "throttled", "failed", "dropped",
    "refused", "bad_answer", "too_long",
]  # fmt: skip
DataFault = Literal[
    "missing",
    "permission",
    "no_space",
    "no_way",
    "corrupt",
    "changed",
    "late",
    "needs_you",
    "refused",
    "broken",
]
GlobusOutcome = Literal["failed", "lost", "expired", "needs_login", "throttled", "offline", "refused", "unreachable"]


class DiamondError(Exception):
    """Something the user can read and act on."""

    code = "diamond_error"
    http_status = 500

    def __init__(self, message: str, *, transient: bool = False, evidence: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.transient = transient
        self.evidence = evidence

    def __str__(self) -> str:
        return self.message

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: the sentence, without frames of ours."""
        return [f"{type(self).__name__}: {self}"]


class InvalidRequest(DiamondError):
    """What was asked makes no sense; nothing was started."""

    code = "invalid_request"
    http_status = 400


class CaptureRefused(InvalidRequest):
    """A name of the cell cannot travel to a site."""

    code = "capture_refused"


class Infeasible(InvalidRequest):
    """No site can run it; the message gives each site's reason."""

    code = "infeasible"
    http_status = 422


class OverBudget(InvalidRequest):
    """It could cost more than a cap of the user's leaves; the message names the cap and what stands against it."""

    code = "over_budget"
    http_status = 422


class NotFound(DiamondError):
    """No such task, site or file."""

    code = "not_found"
    http_status = 404


class Conflict(DiamondError):
    """It clashes with something that is already running."""

    code = "conflict"
    http_status = 409


class NeedsApproval(DiamondError):
    """The user has to say yes first; the first line of ``evidence`` is the proposal's id. Nothing was done."""

    code = "needs_approval"
    http_status = 409


class ApprovalVoid(DiamondError):
    """What was approved is no longer what would happen, or the word comes too late. Nothing was done."""

    code = "approval_void"
    http_status = 409


class PolicyBlocked(DiamondError):
    """Agents are switched off, or this is not theirs, or not a guest's, to do. Nothing was done."""

    code = "policy_blocked"
    http_status = 403


class TransportError(DiamondError):
    """A site could not be reached, or stopped answering.

    ``outcome`` tells what became of the script: ``not_sent`` (it surely did not run), ``refused`` (the site said no),
    ``unknown`` (it may have run, wholly or in part). ``needs_login``: only the user can open the way, by logging in.
    """

    code = "transport"
    http_status = 502

    def __init__(
        self,
        message: str,
        *,
        outcome: SubmitFate,
        transient: bool = True,
        evidence: tuple[str, ...] = (),
        needs_login: bool = False,
    ) -> None:
        super().__init__(message, transient=transient, evidence=evidence)
        self.outcome = outcome
        self.needs_login = needs_login


class GlobusProblem(DiamondError):
    """A Globus service said no, or nothing.

    ``outcome``: ``failed`` (the function raised at the site), ``lost`` (no answer within its time), ``expired`` (there
    was an answer, and the service has dropped it), ``needs_login``, ``throttled``, ``offline`` (the endpoint is),
    ``refused`` (the service says no: not yours, no such endpoint, too large), ``unreachable`` (the service is).
    ``sent``: whether what was asked may have been taken: False only where that is proved.
    """

    code = "globus"
    http_status = 502

    def __init__(
        self,
        message: str,
        *,
        outcome: GlobusOutcome,
        sent: bool,
        transient: bool = False,
        evidence: tuple[str, ...] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, transient=transient, evidence=evidence)
        self.outcome = outcome
        self.sent = sent
        self.retry_after_s = retry_after_s


class DataProblem(DiamondError):
    """Data could not be found, read, moved or put in its place.

    ``kind``: ``missing`` or ``permission`` at a path; ``no_space`` there; ``no_way`` between two places; ``corrupt``
    on arrival; ``changed`` under way; ``late``: its deadline has passed; ``needs_you``: a login or consent (``link``);
    ``refused`` by whoever moves it; ``broken``: anything else. ``advice`` is what to do.
    """

    code = "data"
    http_status = 409

    def __init__(
        self,
        message: str,
        *,
        kind: DataFault,
        advice: str = "",
        link: str = "",
        transient: bool = False,
        evidence: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, transient=transient, evidence=evidence)
        self.kind: DataFault = kind
        self.advice, self.link = advice, link


class SchedulerError(DiamondError):
    """The site's scheduler answered, but not with what we asked."""

    code = "scheduler"
    http_status = 502


class SubmitRefused(SchedulerError):
    """The scheduler said no to this job.

    ``permanent`` is True when the same request can never pass here, False when it may pass later.
    ``reason_code`` is the scheduler's own word, e.g. ``QOSMaxWallDurationPerJobLimit``.
    """

    code = "submit_refused"
    http_status = 422

    def __init__(self, message: str, *, permanent: bool, reason_code: str = "", evidence: tuple[str, ...] = ()) -> None:
        super().__init__(message, transient=not permanent, evidence=evidence)
        self.permanent = permanent
        self.reason_code = reason_code


class SubmitOutputUnreadable(SchedulerError):
    """The scheduler may have taken the job, but no single job id can be read: the job must be looked for."""

    code = "submit_output_unreadable"


class ParseError(DiamondError):
    """Foreign text that does not follow its grammar."""

    code = "parse"
    http_status = 400


class ModelProblem(DiamondError):
    """A language model gave no answer that can be used.

    ``history``: the conversation up to there, valid, with every call of a tool answered; empty where nothing was said.
    """

    code = "model"
    http_status = 502

    def __init__(
        self,
        message: str,
        *,
        kind: ModelFault,
        transient: bool = False,
        evidence: tuple[str, ...] = (),
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, transient=transient, evidence=evidence)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.history: tuple[Any, ...] = ()


class StoreError(DiamondError):
    """The task store cannot be used."""

    code = "store"


class ServerUnavailable(DiamondError):
    """The kernel cannot reach its Jupyter server, or our half of it."""

    code = "server_unavailable"
    http_status = 503


class ResultUnavailable(DiamondError):
    """The result is not there (yet), or is not the one that was signed."""

    code = "result_unavailable"
    http_status = 409


class ResultTimeout(ResultUnavailable, TimeoutError):
    """The result was waited for as long as was said, and is not there yet; the task goes on."""


class RemoteError(DiamondError):
    """The user's own code raised at the site; ``traceback_text`` shows the user's own lines."""

    code = "remote_error"

    def __init__(self, message: str, *, ename: str = "", traceback_text: str = "") -> None:
        super().__init__(message)
        self.ename = ename
        self.traceback_text = traceback_text

    def __str__(self) -> str:
        return f"{self.message}\n\n{self.traceback_text}" if self.traceback_text else self.message

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the user's own lines, then the exception and where it was raised."""
        return [*self.traceback_text.split("\n"), f"{type(self).__name__}: {self.message}"]


BY_CODE: dict[str, type[DiamondError]] = {
    cls.code: cls
    for cls in (
        DiamondError, InvalidRequest, CaptureRefused, Infeasible, OverBudget, NotFound, Conflict, NeedsApproval,
        ApprovalVoid, PolicyBlocked, SchedulerError,
        SubmitOutputUnreadable, ParseError, StoreError, ServerUnavailable, ResultUnavailable,
    )
}  # fmt: skip
