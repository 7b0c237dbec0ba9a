"""B07: the job left the queue before we looked. Absence is not an end: the next source is asked."""

from datetime import datetime, timezone

from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.slurm_jobs import ACCOUNTING_FIELDS
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM = SlurmScheduler()
SINCE = datetime(2026, 3, 1, 10, tzinfo=timezone.utc)


def answer(out: str, err: str = "") -> Completed:
    return Completed(exit=0, stdout=out.encode(), stderr=err.encode())


def section(name: str, text: str, rc: int = 0) -> str:
    return f"@@{name} {rc} {len(text.encode())}\n{text}\n"


END = "@@end 0 0\n"


def test_an_empty_queue_has_no_rows_and_no_verdict():
    reading = SLURM.parse_queue(answer(section("queue", "") + END))
    assert reading.rows == ()
    assert reading.complete


def test_the_queue_is_never_asked_by_job_id():
    # squeue -j fails as a whole for one unknown id, and is silent about several
    script = SLURM.queue_script([NativeJob(id="1234"), NativeJob(id="5")])
    assert " -j" not in script
    assert script.count("$T squeue") == 1


def test_accounting_still_knows_it():
    values = dict.fromkeys(ACCOUNTING_FIELDS, "")
    values |= {"JobIDRaw": "1234", "JobID": "1234", "State": "COMPLETED", "ExitCode": "0:0", "End": "1772360527"}
    line = "\x1f".join(values[field] for field in ACCOUNTING_FIELDS)
    reading = SLURM.parse_accounting(answer(section("me", "0\x1froot") + section("accounting", line) + END))
    assert reading.rows[0].state is State.COMPLETED
    assert reading.rows[0].ended_at == datetime(2026, 3, 1, 10, 22, 7, tzinfo=timezone.utc)


def test_the_controller_is_asked_where_accounting_is_off():
    script = SLURM.accounting_script([NativeJob(id="1234")], since=SINCE)
    assert script.index("sacct") < script.index("scontrol -a -o show job")
    out = section("me", "0\x1froot") + section("accounting", "", rc=1) + section("shown", "") + END
    err = (
        "@@accounting\nSlurm accounting storage is disabled\n@@shown\nslurm_load_jobs error: Invalid job id specified\n"
    )
    reading = SLURM.parse_accounting(answer(out, err))
    assert reading.rows == ()
    assert not reading.complete  # the controller forgets: absent there proves nothing
