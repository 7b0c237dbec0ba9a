"""Servers that are killed for good at a named point of a transfer: a parent that has loaded all forks one for each line.

``python -m tests.data.dying`` reads a line of JSON (the store, the sites, the transfer, where to die) and answers with
how its process ended: ``9`` where it was killed, ``0`` where the transfer has ended.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

from jupyter_diamond.data import placing
from jupyter_diamond.data.work import ShellMover
from jupyter_diamond.model.transfer import TransferRequest
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondData, DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from jupyter_diamond.store.transfers import Transfers

LEASE_S = 0.6


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _after(owner: object, name: str) -> None:
    """Die when a method has come back, or an awaitable of it."""
    whole = getattr(owner, name)

    async def asked(*args: object, **named: object) -> None:
        await whole(*args, **named)
        die()

    def done(*args: object, **named: object) -> None:
        whole(*args, **named)
        die()

    setattr(owner, name, asked if asyncio.iscoroutinefunction(whole) else done)


def _ending(self: Transfers, transfer_id: str, *, kind: str | None = None, **fields: object) -> object:
    return die() if kind == "transfer.ended" else _change(self, transfer_id, kind=kind, **fields)


_change = Transfers.change


def _half(order: dict) -> None:
    """Die when a part has grown to some size."""

    def watch() -> None:
        folder = Path(order["to"]).parent
        while True:
            for part in folder.glob(".diamond-part-*"):
                grown = [path for path in (part, *part.rglob("*")) if path.is_file()]
                if sum(path.stat().st_size for path in grown) > order["grown"]:
                    die()
            time.sleep(0.001)

    threading.Thread(target=watch, daemon=True).start()


def prepare(order: dict) -> None:
    """See that it dies where it shall."""
    match order["die"]:
        case "created":
            _after(Transfers, "create")
        case "begun":
            _after(placing, "begin")
        case "half":
            _half(order)
        case "fetched":
            ShellMover._verify = die
        case "verified":
            _after(ShellMover, "_verify")
        case "placed":
            _after(placing, "place")
        case "ending":
            Transfers.change = _ending


async def serve(order: dict) -> None:
    """Ask for the transfer, by the same token each time, and wait for its end."""
    service = DiamondService(
        store=DiamondStore(path=order["store"], lease_s=LEASE_S), sites=DiamondSites(path=order["sites"]),
        engine=DiamondEngine(), limits=DiamondLimits(), data=DiamondData(), log=logging.getLogger("diamond"),
    )  # fmt: skip
    await service.start()
    transfer = await service.transfers.start(TransferRequest.model_validate(order["request"]))
    await service.transfers.wait(transfer.id)
    await service.stop()


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            prepare(order)
            asyncio.run(serve(order))
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
