"""Processes that move something by Globus and are killed on the way: one parent has loaded all, and forks for each.

``python -m tests.data.globus_transfer.crashing`` reads orders as lines of JSON, and answers each with how its process ended. What is
kept lies in a file, as in the store of a server.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from jupyter_diamond.data.globus import GlobusMover
from jupyter_diamond.globus import bucket, clients, sessions  # noqa: F401 - loaded once, for all
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.transport.local import LocalTransport

from .between import QUICK, globus_at, move_of


def die():
    os.kill(os.getpid(), signal.SIGKILL)


async def moved(order, kept, transfer):
    """Go on with what is kept; die where the order says so."""
    at = order["at"]

    async def keep(**fields):
        nonlocal transfer
        if at == f"before {'+'.join(fields)}":
            die()
        transfer = transfer.model_copy(update=fields)
        new = kept.with_suffix(".new")
        new.write_text(transfer.model_dump_json())
        new.replace(kept)
        if at == f"after {'+'.join(fields)}":
            die()

    async def say(state, sentence, link):
        if at == state:
            die()

    def tell(progress):
        if at == "moving" and progress.bytes_done:
            die()

    globus = globus_at(kept.parent, order["environ"])
    shell = LocalTransport({}) if order["shell"] else None
    move = move_of(transfer, order["root"], shell, keep=keep, tell=tell, say=say)
    await GlobusMover(globus, QUICK).move(move)
    if at == "moved":
        die()
    await globus.close()


def main():
    bucket.PROCESS = bucket.Bucket(100_000)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if not pid:
            os.environ.update(order["services"])
            kept = Path(order["kept"])
            asyncio.run(moved(order, kept, Transfer.model_validate_json(kept.read_text())))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
