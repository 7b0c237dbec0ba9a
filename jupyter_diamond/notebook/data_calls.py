"""What the server can be asked about data by name, and about transfers."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from jupyter_diamond.model.data import Dataset, Listing
from jupyter_diamond.model.transfer import SyncLevel, Transfer, TransferPlan

from .calls import Calls, parsed, part

_DATASETS: TypeAdapter[tuple[Dataset, ...]] = TypeAdapter(tuple[Dataset, ...])
_TRANSFERS: TypeAdapter[tuple[Transfer, ...]] = TypeAdapter(tuple[Transfer, ...])
_LOOK_S = 180.0
"""A folder with many files takes its site a while to list."""


class DataCalls(Calls):
    """The part of the client that is about data. Locations are given as people write them: ``delta:/scratch/x``."""

    def datasets(self) -> tuple[Dataset, ...]:
        """All names, with what is known of their copies."""
        return self._list(_DATASETS, "data", {})

    def dataset(self, name: str) -> Dataset:
        """One of them."""
        return self._get(Dataset, f"data/{part(name)}")

    def add_data(self, name: str, location: str, note: str = "") -> Dataset:
        """Give a name to data, or another copy to a name. Safe to repeat."""
        body = {"name": name, "location": location, "note": note}
        return parsed(Dataset, self._call("POST", "data", json=body, timeout=_LOOK_S))

    def check_data(self, name: str) -> Dataset:
        """Look at every copy now."""
        return parsed(Dataset, self._call("POST", f"data/{part(name)}/check", json={}, timeout=_LOOK_S))

    def remove_data(self, name: str) -> Dataset:
        """Forget a name; its files stay."""
        return parsed(Dataset, self._call("DELETE", f"data/{part(name)}"))

    def data_listing(self, name: str, location: str) -> Listing:
        """What the copy at a location holds now."""
        asked = {"location": location}
        return parsed(Listing, self._call("GET", f"data/{part(name)}/listing", params=asked, timeout=_LOOK_S))

    def drop_data(self, name: str, location: str, listing: str) -> Dataset:
        """Delete a copy that a stage-in made, where it is still what was listed."""
        body = {"location": location, "listing": listing}
        return parsed(Dataset, self._call("POST", f"data/{part(name)}/drop", json=body, timeout=_LOOK_S))

    def transfers(
        self, *, active: bool | None = None, task: str | None = None, limit: int = 100
    ) -> tuple[Transfer, ...]:
        """Newest first; those under way, or those that have ended; those of a task."""
        phase = None if active is None else str(active).lower()
        return self._list(_TRANSFERS, "transfers", {"active": phase, "task": task, "limit": limit})

    def transfer(self, ref: str) -> Transfer:
        """One by its id, or by how that begins."""
        return self._get(Transfer, f"transfers/{part(ref)}")

    def start_transfer(
        self,
        source: str,
        destination: str,
        *,
        client_token: str,
        files: tuple[str, ...] = (),
        sync: SyncLevel | None = "checksum",
        deadline_s: float | None = None,
    ) -> Transfer:
        """Begin one. Safe to repeat: the same client_token always gives the same transfer."""
        body: dict[str, Any] = {
            "client_token": client_token, "source": source, "destination": destination, "files": list(files),
            "sync": sync,
        }  # fmt: skip
        if deadline_s is not None:
            body["deadline_s"] = deadline_s
        return parsed(Transfer, self._call("POST", "transfers", json=body, timeout=_LOOK_S))

    def plan_transfer(self, source: str, destination: str) -> TransferPlan:
        """Which way it would go; nothing moves."""
        return self._get(TransferPlan, "transfers/plan", {"source": source, "destination": destination})

    def cancel_transfer(self, ref: str) -> Transfer:
        """Ask for its end."""
        return self._post(Transfer, f"transfers/{part(ref)}/cancel", {})

    def transfer_again(self, ref: str) -> Transfer:
        """Begin a new one that asks for the same. Not retried: it would be begun twice."""
        return parsed(Transfer, self._once("POST", f"transfers/{part(ref)}/again", json={}, timeout=_LOOK_S))
