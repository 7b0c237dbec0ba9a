"""A real server, killed for good while data is brought or taken away: the same task goes on, and nothing is done twice."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from jupyter_diamond.model.states import State
from jupyter_diamond.store import Store
from tests.chaos.servers import servers

# what was written right before the server died: a transfer, but not whose it is; its beginning, its end
IN = ("transfer.created", "transfer.state_changed", "transfer.ended")
OUT = ("attempt.staging", "transfer.state_changed", "transfer.ended")


def catalogue(folder: Path) -> Path:
    path = folder / "sites.yaml"
    box = f"{{name: box, scheduler: process, workdir: {folder / 'box'}, data: {{folder: {folder / 'scratch'}}}}}"
    path.write_text(f"sites:\n  - {box}\n")
    return path


def killed_at(tmp_path: Path, moments: tuple[str, ...], source: str, wanted: dict[str, object]) -> Store:
    """Kill the server right after each of these events of a cell of its own, then let one finish them all."""
    with servers(tmp_path, catalogue(tmp_path)) as them:
        for number, moment in enumerate(moments):
            newest = them.newest()
            them.start()
            text = json.dumps({"site": "box", "walltime_s": {"min": 600, "max": 600}, **wanted})
            envelope = json.loads(text.replace("NUMBER", str(number)))
            them.order(name=f"cell{number}", source=source.replace("NUMBER", str(number)), envelope=envelope)
            assert them.happens(moment, newest, 30.0), moment
            them.kill()
        them.start()
        deadline = time.monotonic() + 90.0
        while them.unended(len(moments)):
            assert time.monotonic() < deadline, (tmp_path / "servers.log").read_text()[-3000:]
            time.sleep(0.1)
    return Store(tmp_path / "diamond" / "store.sqlite")


def of(store: Store, count: int):
    """The tasks, each with the transfers that were made for it."""
    tasks = [store.task(f"cell{number}") for number in range(count)]
    moved = store.transfers.list(limit=1000)
    store.close()
    assert [(task.state, len(task.attempts), task.cause) for task in tasks] == [(State.COMPLETED, 1, "")] * count
    return tasks, moved


@pytest.fixture
def words(tmp_path):
    """Enough to take a moment."""
    folder = tmp_path / "words"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}.bin").write_bytes(bytes([number]) * (1 << 20))
    return folder


def test_a_server_that_dies_while_data_comes_brings_it_once(tmp_path, words):
    (tmp_path / "ran").mkdir()
    source = (
        "import os\nfiles = os.listdir(os.environ['DIAMOND_DATA_WNUMBER'])\n"
        f"open({str(tmp_path / 'ran')!r} + '/NUMBER', 'a').write(f'{{len(files)}} ')"
    )
    # each cell has a name of its own for the data, so that each of them has it brought
    wanted = {"stage_in": [{"name": "wNUMBER", "source": {"kind": "home", "path": str(words)}}]}
    tasks, moved = of(killed_at(tmp_path, IN, source, wanted), len(IN))
    assert [(tmp_path / "ran" / str(number)).read_text() for number in range(len(IN))] == ["20 "] * len(IN)
    assert sorted(each.request.task for each in moved) == sorted(task.id for task in tasks)
    assert {each.state for each in moved} == {"succeeded"}


def test_a_server_that_dies_while_files_are_taken_away_takes_them_once(tmp_path):
    source = "for k in range(20): open(f'NUMBER-{k}.bin', 'wb').write(bytes([k]) * (1 << 20))"
    out = [{"pattern": "*.bin", "destination": {"kind": "home", "path": str(tmp_path / "results")}}]
    tasks, moved = of(killed_at(tmp_path, OUT, source, {"stage_out": out}), len(OUT))
    assert len(list((tmp_path / "results").glob("*.bin"))) == 20 * len(OUT)
    assert [task.attempt.job_state for task in tasks] == [None] * len(OUT)
    assert sorted(each.id for each in moved) == sorted(ref for task in tasks for ref in task.attempt.staged_out)
    assert {each.request.task for each in moved} == {task.id for task in tasks}
