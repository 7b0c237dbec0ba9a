"""One endpoint as we know it: whether it is there, by what clock it goes, and what its problems mean to the user."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic import ValidationError

from jupyter_diamond.errors import GlobusProblem, SubmitFate, TransportError
from jupyter_diamond.model.manifest import ForeignValue

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus
    from jupyter_diamond.globus.clients import Clients

_ALIVE_S = 90.0
"""An endpoint that answered so short ago is not asked for its status: a tick of the probe is less."""
_AWAY_S = 10.0
_REFUSED_S = 60.0
_MENDED_BY_ITSELF = ("throttled", "unreachable", "offline", "lost")


class _Status(ForeignValue):
    status: str


class _Metadata(ForeignValue):
    name: str = ""
    hostname: str | None = None


class FarClock:
    """The site's clock against ours: the difference lies between two bounds, which every answer draws closer."""

    def __init__(self) -> None:
        self._least, self._most = 0.0, 0.0
        self._known = False

    def note(self, *, sent_at: float, heard_at: float, far: float) -> None:
        """An answer said that it was ``far`` there, some time between the two."""
        least, most = far - heard_at, far - sent_at
        if self._known and max(least, self._least) <= min(most, self._most):
            least, most = max(least, self._least), min(most, self._most)
        self._least, self._most, self._known = least, most, True

    def there(self, at: float) -> float:
        """What the site's clock shows at the latest when ours shows this."""
        return at + self._most


class Endpoint:
    """An endpoint. ``host`` is where the user said that it runs; ``where`` is the site's name, for sentences."""

    def __init__(self, globus: Globus, endpoint_id: UUID, *, where: str, host: str | None) -> None:
        self.id = str(endpoint_id)
        self.where = where
        self.clock = FarClock()
        self._globus, self._host = globus, (host or "").rpartition("@")[2]
        self._metadata = _Metadata()
        self.away = False
        """Its agent did not run when it was last asked for."""
        self._good_until = 0.0
        self._refused: tuple[float, TransportError] | None = None

    @property
    def doing(self) -> str:
        """Completes *while …* in a sentence."""
        return f"reaching {self.where} by Globus Compute"

    def answered(self) -> None:
        """It is alive: an answer of its own has come."""
        self._good_until, self._refused, self.away = time.monotonic() + _ALIVE_S, None, False

    def doubt(self) -> None:
        """Something was lost: look before the next command goes out."""
        self._good_until = 0.0

    async def check(self, *, anew: bool = False) -> None:
        """Raise TransportError (not_sent) when it is surely not there. Asked at most every ten seconds."""
        now = time.monotonic()
        if self._refused is not None and now < self._refused[0]:
            raise self._refused[1]
        if now < self._good_until and not anew:
            return
        try:
            online = await self._globus.call(self._ask, doing=self.doing, sent=False)
        except GlobusProblem as problem:
            error = self.error(problem, sent=False)
            pause = _AWAY_S if problem.outcome in _MENDED_BY_ITSELF else _REFUSED_S
            # a login may come at any instant, and asking for it costs no request
            self._refused = None if error.needs_login else (now + (problem.retry_after_s or pause), error)
            raise error from problem
        self.away = not online
        if self.away:
            error = self.offline(outcome="not_sent")
            self._refused = (now + _AWAY_S, error)
            raise error
        self._refused, self._good_until = None, now + _AWAY_S

    def _ask(self, clients: Clients) -> bool:
        """On the thread of the login: whether it is online, and, once, what it is called."""
        try:
            if not self._metadata.name:
                self._metadata = _Metadata.model_validate(clients.compute2.get_endpoint(self.id).data)
            online = _Status.model_validate(clients.compute2.get_endpoint_status(self.id).data).status == "online"
        except ValidationError as error:
            raise GlobusProblem(
                f"Globus Compute gave an answer without what belongs into it while {self.doing}.",
                outcome="unreachable", sent=False, transient=True,
            ) from error  # fmt: skip
        return online

    def start_words(self) -> str:
        """What a user types, and where: what endpoint-setup made is on nobody's PATH."""
        host, name = self._host or self._metadata.hostname or "its login node", self._metadata.name or "NAME"
        return (
            f"type `globus-compute-endpoint start {name}` on {host}, or `sh ~/.globus_compute/{name}/start.sh` where "
            f"endpoint-setup made it"
        )

    def offline(self, *, outcome: SubmitFate) -> TransportError:
        """Its agent does not run."""
        fate = "nothing was sent" if outcome == "not_sent" else "what was handed in runs only if it is back soon"
        return TransportError(
            f"The Globus Compute endpoint of {self.where} is offline: {self.start_words()}. Until then {fate}.",
            outcome=outcome,
        )

    def lost(self, waited_s: float) -> TransportError:
        """No answer came within its time."""
        return TransportError(
            f"{self.where} gave no answer over Globus Compute within {waited_s:.0f} s, so whether the command ran is "
            f"unknown. It is looked for before anything is tried again. If this repeats, {self.restart_words()}.",
            outcome="unknown",
        )

    def late(self) -> TransportError:
        """The command came to the site after its time, and did nothing there."""
        return TransportError(
            f"A command came to {self.where} only after its time, and was not run. It is tried again.",
            outcome="not_sent",
        )

    def restart_words(self) -> str:
        """What a user types where an endpoint is said to be online and does not work."""
        name, host = self._metadata.name or "NAME", self._host or self._metadata.hostname or "its login node"
        return f"type `globus-compute-endpoint restart {name}` on {host}"

    def error(self, problem: GlobusProblem, *, sent: bool | None = None) -> TransportError:
        """A problem of the service as one of this site. ``sent`` overrules what the problem says of it."""
        taken = problem.sent if sent is None else sent
        outcome: SubmitFate = "unknown" if taken else "refused" if problem.outcome == "refused" else "not_sent"
        message = problem.message
        if problem.outcome == "offline" and self.start_words() not in message:
            message = f"The Globus Compute endpoint of {self.where} does not take commands: {self.start_words()}."
        elif self.where not in message:
            message = f"{self.where}: {message}"
        return TransportError(
            message,
            outcome=outcome,
            transient=problem.transient or problem.outcome != "refused",
            evidence=problem.evidence,
            needs_login=problem.outcome == "needs_login",
        )
