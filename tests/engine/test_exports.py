"""Exports of real jobs: another researcher reads them with RO-Crate's own library, or with his eyes."""

import hashlib
import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from rocrate.rocrate import ROCrate

from jupyter_diamond.engine.receipts.crate import uri
from jupyter_diamond.errors import Conflict, InvalidRequest
from jupyter_diamond.model.data import StageOut
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.receipt import CrateForm
from tests.engine.conftest import ended

pytestmark = pytest.mark.asyncio

KEY = "sk-" + "a" * 30
SOURCE = f"""
import numpy as np
open('small.csv', 'w').write('a,b')
open('large.bin', 'wb').write(bytes(50_000))
open('odd <b>| `x`\\n.txt', 'w').write('odd')
open('key.txt', 'w').write('{KEY}')
answer = np.arange(3)
print('it printed {KEY}')
"""


async def exported(bench, folder, source=SOURCE, copy_bytes=10_000):
    service = await bench.start()
    envelope = Envelope(stage_out=(StageOut(pattern="*"),))
    done = await ended(service, await bench.submit(service, source, outputs=("answer",), envelope=envelope))
    crate = await service.receipts.exports.task(done.id, CrateForm(folder=str(folder), copy_bytes=copy_bytes))
    return service, done, crate


async def test_an_export_reads_back_without_secrets_and_says_where_the_large_files_lie(bench, tmp_path):
    folder = tmp_path / "out" / "crate"
    service, done, crate = await exported(bench, folder)
    assert (crate.tasks, crate.copied, crate.referenced) == (1, 3, 2)
    assert crate.notes == ("key.txt was not copied: it holds what looks like a secret",)

    read = ROCrate(folder)
    (action,) = read.get_by_type("CreateAction")
    assert read.root_dataset["identifier"] == f"jupyter-diamond:{done.id}"
    assert action["actionStatus"] == "http://schema.org/CompletedActionStatus"
    assert action["startTime"] < action["endTime"]
    assert action["agent"]["name"]
    instruments = {each["name"]: each for each in action["instrument"]}
    assert set(instruments) >= {"What ran", "here", "Python"}
    assert "numpy" in {each["name"] for each in instruments["Python"]["softwareRequirements"]}
    assert instruments["What ran"]["programmingLanguage"]["name"] == "Python"
    measures = {each["name"]: each.get("value") for each in action["additionalProperty"]}
    assert (measures["site"], measures["exit code"]) == ("here", 0)
    results = {each["name"]: each for each in action["result"]}
    for name in ("small.csv", "odd <b>| `x`\n.txt"):
        copy = folder / "fit" / "files" / name
        assert hashlib.sha256(copy.read_bytes()).hexdigest() == results[name]["sha256"]
    assert results["large.bin"].id == uri(f"here:{Path(done.attempt.folder, 'work', 'large.bin')}")
    assert results["large.bin"]["contentSize"] == "50000"
    for entity in read.data_entities:
        assert entity.id.startswith("file://") or (folder / unquote(entity.id)).exists()
    _no_secret_is_in(folder, service.ledger.store.key(done.id, 1))


def _no_secret_is_in(folder, key):
    whole = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert KEY.encode() not in whole
    assert key.encode() not in whole
    text = (folder / "README.md").read_text()
    assert "Python 3" in text
    assert "<b>" not in text.replace("`odd <b>|", "").replace("odd <b>\\|", "")
    assert "| `small.csv` | 3 |" in text
    receipt = json.loads((folder / "fit" / "receipt.json").read_text())
    assert receipt["where"]["site"] == "here"


async def test_an_export_is_written_again_over_itself_and_over_nothing_else(bench, tmp_path):
    folder = tmp_path / "crate"
    service, done, _ = await exported(bench, folder)
    (folder / "mine.txt").write_text("mine")
    form = CrateForm(folder=str(folder))
    assert (await service.receipts.exports.task(done.id, form)).copied == 4
    assert (folder / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []
    (Path(done.attempt.folder) / "work" / "small.csv").write_text("xyz")
    again = await service.receipts.exports.task(done.id, CrateForm(folder=str(tmp_path / "second")))
    assert "small.csv was not copied: it has changed since its receipt was written" in again.notes
    assert not (tmp_path / "second" / "fit" / "files" / "small.csv").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").touch()
    with pytest.raises(Conflict, match="no export of the same"):
        await service.receipts.exports.task(done.id, CrateForm(folder=str(other)))
    with pytest.raises(InvalidRequest, match="full path"):
        await service.receipts.exports.task(done.id, CrateForm(folder="relative"))


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("delta:/scratch/a b", "file://delta/scratch/a%20b"),
        ("globus://c2b0/x y", "globus://c2b0/x%20y"),
        ("/plain", "file:///plain"),
    ],
)
async def test_what_is_not_inside_has_an_absolute_address(where, found):
    assert uri(where) == found
