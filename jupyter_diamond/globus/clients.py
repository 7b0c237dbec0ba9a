"""The services as somebody who is signed in sees them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from globus_sdk import BaseClient, ComputeClientV2, ComputeClientV3, TransferClient

C = TypeVar("C", bound=BaseClient)


class Clients:
    """Clients of the real SDK, each made when it is first asked for. Only for the thread that it was given to."""

    def __init__(self, make: Callable[[type[BaseClient]], BaseClient]) -> None:
        self._make = make

    def _of(self, kind: type[C]) -> C:
        made = self._make(kind)
        assert isinstance(made, kind)
        return made

    @cached_property
    def compute2(self) -> ComputeClientV2:
        """Globus Compute: endpoints, tasks."""
        return self._of(ComputeClientV2)

    @cached_property
    def compute3(self) -> ComputeClientV3:
        """Globus Compute: functions, submissions."""
        return self._of(ComputeClientV3)

    @cached_property
    def transfer(self) -> TransferClient:
        """Globus Transfer; who never transfers anything is never asked to allow it."""
        return self._of(TransferClient)
