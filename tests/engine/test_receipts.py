"""Receipts of real jobs on this machine: what they say, the files that they name, and what is never handed out."""

import hashlib
import json
from pathlib import Path

import pytest

from jupyter_diamond.engine.receipts.kept import _run_folder
from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.data import StageOut
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.states import State
from tests.engine.conftest import ended

pytestmark = pytest.mark.asyncio

SOURCE = """
import os
os.makedirs('ckpt', exist_ok=True)
for n in range(60):
    open(f'ckpt/{n:02}.pt', 'wb').write(bytes([n]) * 1000)
open("odd '\\n<b>.txt", 'w').write('odd')
print('kept')
answer = 42
"""


def keeping(*patterns: str) -> Envelope:
    return Envelope(stage_out=tuple(StageOut(pattern=each) for each in patterns))


async def ran(bench, source=SOURCE, envelope=None, cwd=None, **fields):
    service = await bench.start()
    task = await bench.submit(service, source, envelope=envelope or keeping("ckpt/*", "odd*"), cwd=cwd, **fields)
    return service, await ended(service, task)


async def test_a_receipt_says_where_how_and_what_it_left(bench):
    service, done = await ran(bench, outputs=("answer",))
    receipt = await service.receipts.receipt(done.id)
    assert receipt.ended.state is State.COMPLETED
    assert receipt.outcome == "OK"
    assert (receipt.where.site, receipt.where.folder) == ("here", done.attempt.folder)
    assert receipt.where.run_folder == f"{done.attempt.folder}/work"
    assert (receipt.files_count, receipt.files_bytes, len(receipt.files)) == (61, 60_003, 20)
    assert [value.about for value in receipt.values] == ["answer: int 42"]
    assert receipt.log.text == "kept\n"
    assert receipt.decided is not None
    assert receipt.decided.sentence == (await service.decision(done.id)).sentence
    assert receipt.code.digest == done.digest
    assert receipt.took.core_hours is not None
    assert receipt.unknown == ()
    assert "%diamond fetch fit 'ckpt/*'" in receipt.actions
    assert len(receipt.model_dump_json()) < 16_384


async def test_files_come_in_pieces_as_they_were_listed(bench):
    service, done = await ran(bench)
    listing = await service.receipts.files(done.id)
    kinds = {each.kind for each in listing.files}
    assert kinds == {"kept", "outputs", "log"}
    last = next(each for each in listing.files if each.path == "ckpt/59.pt")
    piece = await service.receipts.fetch(done.id, last.ask, offset=990)
    assert piece == bytes([59]) * 10
    whole = b"".join([each async for each in service.receipts.pieces(done.id, last.ask)])
    assert hashlib.sha256(whole).hexdigest() == last.sha256
    odd = next(each for each in listing.files if each.path.startswith("odd"))
    assert odd.path == "odd '\n<b>.txt"
    assert await service.receipts.fetch(done.id, odd.ask) == b"odd"
    assert await service.receipts.fetch(done.id, "job.out") == b"kept\n"


async def test_what_the_receipt_does_not_name_is_not_handed_out(bench, tmp_path):
    service, done = await ran(bench)
    work = Path(done.attempt.folder) / "work"
    for ask in ("key", "bundle.tar", "kept/../key", "kept//etc/passwd", "kept/none", "result/../key", "../job.out"):
        with pytest.raises(NotFound):
            await service.receipts.fetch(done.id, ask)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (work / "ckpt/01.pt").unlink()
    (work / "ckpt/01.pt").symlink_to(secret)
    with pytest.raises(NotFound, match="link that leads out"):
        await service.receipts.fetch(done.id, "kept/ckpt/01.pt")


async def test_a_receipt_that_names_other_files_is_not_believed(bench):
    service, done = await ran(bench)
    receipt = Path(done.attempt.folder) / "manifest.json"
    said = json.loads(receipt.read_text())
    said["files"] = [{"path": "../../key", "bytes": 1}, {"path": "passwd", "bytes": 1}]
    said["files_count"] = 2
    said["folder"] = "/etc"
    receipt.write_text(json.dumps(said))
    listing = await service.receipts.files(done.id)
    assert [each.kind for each in listing.files] == ["outputs", "log"]
    assert "lead out of the folder" in listing.note
    assert "/etc, which is not the folder" in listing.note
    with pytest.raises(NotFound, match="/etc"):
        await service.receipts.fetch(done.id, "kept/passwd")


async def test_where_the_site_sees_the_kernels_folder_its_files_are_kept_there(bench, tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    service, done = await ran(bench, cwd=str(folder))
    receipt = await service.receipts.receipt(done.id)
    assert receipt.where.run_folder == str(folder)
    assert await service.receipts.fetch(done.id, "kept/ckpt/07.pt", limit=3) == b"\7\7\7"


async def test_a_failed_task_and_one_without_a_runners_receipt_have_one(bench):
    service, done = await ran(bench, source="open('a.log', 'w').write('x')\n1 / 0", envelope=keeping("*.log", "*.pt"))
    receipt = await service.receipts.receipt(done.id)
    assert receipt.ended.error is not None
    assert receipt.ended.error.ename == "ZeroDivisionError"
    assert [each.path for each in receipt.files] == ["a.log"]
    assert receipt.files_note == "nothing is named by *.pt"
    assert receipt.actions[0] == "%diamond logs fit"
    assert "ZeroDivisionError" in receipt.log.text
    (Path(done.attempt.folder) / "manifest.json").unlink()
    again = await (await bench.start()).receipts.receipt("fit")  # another server remembers nothing
    assert again.ended.state is State.FAILED
    assert (again.files_count, again.where.site) == (0, "here")
    with pytest.raises(NotFound, match="no attempt 2"):
        await service.receipts.receipt("fit", 2)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("/elsewhere/attempts/dmd-1/work", "/w/attempts/dmd-1/work"),
        ("/w/attempts/dmd-2/work", None),
        ("/etc", None),
        ("", None),
    ],
)
async def test_the_folder_of_the_files_is_never_the_receipts_word_alone(sample_attempt, said, found):
    assert _run_folder(sample_attempt, said, None) == found


@pytest.fixture
def sample_attempt():
    from jupyter_diamond.model.base import from_epoch
    from jupyter_diamond.model.envelope import Size
    from jupyter_diamond.model.task import Attempt

    now = from_epoch(0)
    return Attempt(
        n=1, token="dmd-1", site="far", size=Size(walltime_s=60), folder="/w/attempts/dmd-1", created_at=now,
        state_since=now,
    )  # fmt: skip
