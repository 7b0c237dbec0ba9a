"""A receipt as it reads and shows: facts first; whatever a job wrote is data."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.manifest import CellError, KeptFile
from jupyter_diamond.model.receipt import (
    Code,
    Crate,
    Decided,
    Earlier,
    Ended,
    LogTail,
    RanIn,
    Receipt,
    TaskFile,
    Took,
    Where,
)
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import NotebookCell
from jupyter_diamond.notebook.receipt_text import Manifest, crate_text

T0 = from_epoch(1_790_000_000)


@pytest.fixture
def manifest():
    size = Size(nodes=2, cpus=4, gpus=1, walltime_s=3600)
    bad = "<script>alert(1)</script>\x1b[31m\n.pt"
    return Manifest(Receipt(
        task="t1", name="fit", attempt=2, attempts=2, outcome="FAILED",
        where=Where(site="delta", partition="gpu", account="abc", job="4711", nodes="gn[01-02]", size=size,
                    run_folder="/scratch/run"),
        ended=Ended(state=State.FAILED, exit_code=1, cause="ValueError: <b>no</b>", next="%diamond logs fit",
                    error=CellError(ename="ValueError", evalue="<b>no</b>")),
        took=Took(created_at=T0, started_at=T0, ended_at=T0 + timedelta(minutes=41), ran_s=2460.0, waited_s=3.0,
                  max_rss_bytes=3 << 30, core_hours=5.5, gpu_hours=1.37,
                  charge=Charge(unit="GPU-hour", actual=1.37, settled_at=T0)),
        ran_in=RanIn(env="torch", python="3.11.7", packages={"numpy": "1.26.4"}, modules=("cuda/12",)),
        code=Code(language="python", source="1", digest="ab" * 32,
                  notebook=NotebookCell(path="study/fit.ipynb", cell_id="c-1")),
        decided=Decided(id="t1/2", made_at=T0, sentence="Soonest there.", mode="rules", objective="earliest_completion",
                        candidates=9, feasible=3, snapshot_id=7),
        asked=Envelope(), files=(KeptFile(path=bad, bytes=1024, sha256="cd" * 32, media_type="text/html"),),
        files_count=61, files_bytes=61 << 20, files_note="nothing is named by *.csv",
        values=(TaskFile(kind="value", path="result/x.json", ask="result/x.json", bytes=3, about="x: int 42"),),
        log=LogTail(text="loss 0.1\nloss nan\n", bytes=18), unknown=("its transfers are not known: busy",),
        before=(Earlier(n=1, site="anvil", state=State.TIMEOUT, cause="Its time was over."),),
        actions=("%diamond logs fit", "%diamond fetch fit 'ckpt/*'"), made_at=T0,
    ))  # fmt: skip


def test_a_receipt_reads_from_the_end_to_what_can_be_done(manifest):
    lines = repr(manifest).splitlines()
    assert lines[0] == "✗ fit, attempt 2 of 2 failed, exit code 1"
    text = "\n".join(" ".join(line.split()) for line in lines)
    for said in (
        "where delta:gpu, account abc, job 4711, gn[01-02]", "ran 41:00 after 00:03 in the queue",
        "took 3 GB of memory at most, 5.5 core-hours, 1.37 GPU-hours", "charge 1.37 GPU-hours",
        "software Python 3.11.7, numpy 1.26.4, module cuda/12", "from study/fit.ipynb, cell c-1",
        "why there Soonest there.", "files: 61 files, 61 MB:", "and 60 more", "nothing is named by *.csv",
        "attempt 1 anvil timed out Its time was over.", "loss nan", "its transfers are not known: busy",
        "%diamond fetch fit 'ckpt/*'", "x: int 42 3 B",
    ):  # fmt: skip
        assert said in text, said


def test_what_a_job_wrote_is_data_in_both(manifest):
    assert "\x1b" not in repr(manifest)
    shown = manifest._repr_html_()
    assert "<script>" not in shown
    assert "<b>no</b>" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\n.pt" in shown
    assert "\x1b" not in shown


def test_its_fields_are_at_hand(manifest):
    assert manifest.where.site == "delta"
    assert manifest.ended.exit_code == 1
    assert "took" in dir(manifest)
    assert Receipt.model_validate_json(manifest.json()) == manifest.receipt
    with pytest.raises(AttributeError):
        _ = manifest.nothing_of_that_name


def test_an_export_says_what_is_in_it():
    crate = Crate(folder="/x", tasks=2, copied=3, copied_bytes=2048, referenced=1, notes=("a\x1b[0m was not copied",))
    assert crate_text(crate) == (
        "/x: 2 runs, 3 files copied (2 KB), 1 named with their digests. README.md says what it is.\n  a was not copied"
    )
