"""Globus Auth, Globus Compute and Globus Transfer on one loopback port."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .auth import Auth
from .compute import Compute
from .server import Exchange, Fault, Server
from .transfer import Transfer

SERVICES = ("COMPUTE", "AUTH", "TRANSFER")


class StandIn:
    """The services, up from the moment it is made. Every answer, fault and task of it is this test's own.

    ``fault(match, status=, headers=, body=, times=, when="before"|"after", delay=, drop=)`` adds a rule (see Fault),
    ``heal()`` forgets them, ``requests(match)`` gives what was asked, ``down()`` and ``up()`` take the service away and
    bring it back with all that it knows.
    """

    def __init__(self, port: int = 0) -> None:
        self.server = Server(port)
        self.auth = Auth(self.server)
        self.compute = Compute(self.server, self.auth)
        self.transfer = Transfer(self.server, self.auth)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that lead globus_sdk's clients and apps here."""
        services = {f"GLOBUS_SDK_SERVICE_URL_{service}": self.url + "/" for service in SERVICES}
        return {**services, "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}

    def fault(self, match: str, **what: Any) -> Fault:
        return self.server.fault(match, **what)

    def heal(self) -> None:
        self.server.heal()

    def requests(self, match: str = "") -> list[Exchange]:
        return self.server.requests(match)

    def forget(self) -> None:
        """Between two tests that share it: no fault, nothing in the log, the same person at the browser. Tokens stay."""
        self.heal()
        with self.server.lock:
            self.server.log.clear()
        self.auth.forget()

    def down(self) -> None:
        self.server.down()

    def up(self) -> None:
        self.server.up()

    def close(self) -> None:
        """End everything: the port, the tasks that run."""
        self.server.close()
        self.compute.close()
        self.transfer.close()

    def __enter__(self) -> StandIn:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
