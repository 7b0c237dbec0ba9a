"""What the seeds have found, each written down as a plan of its own."""

from __future__ import annotations

import pytest

from jupyter_diamond.engine import submit, watch
from jupyter_diamond.engine.groups import desk
from jupyter_diamond.engine.stage import submit_script
from jupyter_diamond.model.states import State
from jupyter_diamond.store import attempt_book

from .plan import Act, Kill, Window, Wish, calm
from .run import play

LATE_SCRIPT_OF_A_CANCELLED_TASK = {
    "forced": {"submit": ["late_run"]}, "late_s": (400.0,),
    "acts": (Act(1.0, "submit", "cell0"), Act(10.0, "cancel", "cell0")),
}  # fmt: skip
SHELL_DIES_AND_ITS_SCRIPT_COMES_AGAIN = {"forced": {"submit": ["twice"], "shell": ["mute"]}, "twice_s": (3.0,)}
HELD = (Act(1.0, "submit", "sweep0"), Act(1.015, "hold", "sweep0"), Act(100.0, "release", "sweep0"))
THREE_MEMBERS = {"acts": (Act(1.0, "submit", "sweep0"),), "wishes": {"sweep0": Wish(rounds=(3,))}}
ID_IS_GIVEN_TO_ANOTHER = {"kills": (Kill("queue before", 1, 600.0),), "ids_anew": (100.0,), "fates": ("oom",)}


@pytest.fixture
def made(tmp_path):
    """Make a run, and have every invariant hold in it."""

    def make(*, holds=True, real_shell=False, **changes):
        folder = tmp_path / "world"
        folder.mkdir()
        changes = {
            name: {k: list(v) for k, v in value.items()} if name == "forced" else value
            for name, value in changes.items()
        }
        report = play(calm(**changes), folder, real_shell=real_shell)
        assert (report.violations == []) is holds, "\n".join(report.trace)
        return report

    return make


def told(report, text):
    """When it was told, in seconds since the world began."""
    return next(float(line.split()[0]) for line in report.trace if text in line)


def ended(report):
    return dict(report.states)


def test_nothing_goes_wrong_where_nothing_is_wrong(made):
    report = made()
    assert (ended(report), report.jobs) == ({"completed": 1}, 1)


def test_a_store_that_is_locked_while_a_job_is_taken_is_no_refusal(made):
    """The job was in the queue, the task said REJECTED, nothing was submitted."""
    report = made(forced={"commit attempt.submitted": ["locked"]})
    assert (ended(report), report.jobs) == ({"completed": 1}, 1)
    assert report.injected["refused commit of attempt.submitted"]


def test_a_full_disk_under_the_store_ends_no_watch(made):
    """The watch of the site ended for good when it had to be begun again while something was being submitted."""
    report = made(
        windows=(Window("store_full", 4.0, 60.0),),
        acts=(Act(1.0, "submit", "cell0"), Act(2.0, "submit", "cell1")),
        forced={"submit": ["", *["not_sent"] * 6]},
    )
    assert ended(report) == {"completed": 2}


def test_a_script_that_comes_after_its_task_was_cancelled_submits_nothing(made):
    report = made(**LATE_SCRIPT_OF_A_CANCELLED_TASK)
    assert (ended(report), report.jobs) == ({"cancelled": 1}, 0)


def test_a_script_that_comes_after_the_next_submission_submits_nothing(made):
    report = made(forced={"submit": ["late_run"]}, late_s=(300.0,), waits_s=(500.0,))
    assert (ended(report), report.jobs) == ({"completed": 1}, 1)


def test_a_script_that_comes_again_when_the_disk_has_room_submits_nothing(made):
    report = made(forced={"submit": ["twice"], "shell": ["full"]}, real_shell=True)
    assert (ended(report), report.jobs) == ({"rejected": 1}, 0)


def test_a_clock_that_is_set_back_does_not_stop_the_search_for_a_job(made):
    report = made(forced={"submit": ["lost_before"]}, jumps=((62.5, -3 * 3600.0),))
    assert ended(report) == {"completed": 1}
    assert told(report, "ends COMPLETED") < 300.0


def test_the_search_begins_when_the_scheduler_can_be_asked_not_when_the_answer_was_lost(made):
    """The controller was down for longer than a job is looked for; a slow shell still waited for it."""
    report = made(
        forced={"submit": ["late_run"]}, late_s=(250.0,), windows=(Window("controller_down", 2.0, 240.0),),
        waits_s=(500.0,),
    )  # fmt: skip
    assert (ended(report), report.jobs) == ({"completed": 1}, 1)


def test_a_job_of_somebody_else_with_our_jobs_id_says_nothing_of_ours(made):
    report = made(**ID_IS_GIVEN_TO_ANOTHER)
    assert ended(report) == {"lost": 1}


def test_the_end_of_a_job_that_was_turned_away_is_not_the_end_of_the_cell(made):
    """The scheduler took it twice, and we knew the second, which the first one's claim turned away."""
    report = made(
        forced={"shell": ["double"], "look": ["", *["lost_before"] * 4]}, kills=(Kill("queue before", 1, 20.0),),
        waits_s=(5.0,), runs_s=(300.0,),
    )  # fmt: skip
    assert (ended(report), report.jobs) == ({"completed": 1}, 2)
    assert told(report, "cell0 is completed") > 300.0


def test_an_answer_that_makes_no_sense_does_not_say_that_nobody_runs_the_cell(made):
    report = made(
        forced={"shell": ["double"], "look": ["", *["lost_before"] * 4], "fence": ["garbled"]},
        kills=(Kill("queue before", 1, 20.0),), waits_s=(5.0,), runs_s=(300.0,),
    )  # fmt: skip
    assert (ended(report), report.jobs) == ({"completed": 1}, 2)


def test_a_job_that_was_taken_twice_never_begins_when_the_other_was_cancelled(made):
    report = made(
        forced={"shell": ["double"]}, waits_s=(200.0,),
        acts=(Act(1.0, "submit", "cell0"), Act(5.0, "cancel", "cell0")),
    )  # fmt: skip
    assert ended(report) == {"cancelled": 1}
    assert not any("runs the cell" in line for line in report.trace)


def test_a_refusal_is_kept_when_the_answer_that_closes_its_attempt_is_lost(made):
    report = made(forced={"shell": ["dies", "full"], "fence": ["", "garbled"]})
    assert ended(report) == {"rejected": 1}
    assert told(report, "cell0 is rejected") < 600.0


def test_a_server_stopped_as_it_should_be_leaves_nothing_undone(made):
    report = made(stops=(10.0,), runs_s=(300.0,))
    assert (ended(report), report.jobs) == ({"completed": 1}, 1)


def test_a_group_that_is_held_before_it_has_started_does_not_start_while_it_is(made):
    """Its intent is stored with it: its array was sent in the same breath, and is taken back."""
    report = made(**{**THREE_MEMBERS, "acts": HELD})
    assert (ended(report), report.jobs) == ({"completed": 3}, 6)
    assert told(report, "runs the cell") > 100.0


@pytest.fixture
def sent_later(monkeypatch):
    """A group's first arrays are handed over by its driver, as those of later rounds are."""

    async def not_yet(self, first, asked):
        return first

    monkeypatch.setattr(desk.GroupDesk, "_announced", not_yet)


def test_a_group_that_is_held_while_it_is_being_sent_is_not_sent(made, sent_later):
    """Its members were handed to their site as they were before the hold."""
    report = made(**{**THREE_MEMBERS, "acts": HELD})
    assert (ended(report), report.jobs) == ({"completed": 3}, 3)
    assert told(report, "runs the cell") > 100.0


@pytest.mark.parametrize("lost", ["lost_after", "late_run", "lost_before", "twice"])
def test_an_array_whose_answer_is_lost_is_looked_for_and_runs_once(made, lost):
    report = made(**THREE_MEMBERS, forced={"submit": [lost]}, late_s=(20.0,))
    assert (ended(report), report.jobs) == ({"completed": 3}, 3)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("moment", ["commit attempt.submitting", "submit", "commit attempt.submitted"])
def test_an_array_survives_a_kill_between_its_intent_and_its_answer(made, moment, side):
    report = made(**THREE_MEMBERS, kills=(Kill(f"{moment} {side}", 1, 20.0),))
    assert (ended(report), report.jobs) == ({"completed": 3}, 3)


def test_of_an_array_only_the_members_that_failed_run_again_each_alone(made):
    report = made(**THREE_MEMBERS, fates=("ok", "node_fail", "failed"))
    assert (ended(report), report.jobs) == ({"completed": 2, "failed": 1}, 4)
    assert len([line for line in report.trace if "job 101 of" in line and "is queued" in line]) == 1


def test_another_plan_for_a_job_that_is_being_taken_back_does_not_make_it_stay(made):
    """Its place was still the best; but the job was cancelled by then, which counted as ended from outside."""
    acts = [Act(1.0, "submit", "cell0"), Act(1.01, "hold", "cell0"), Act(1.31, "release", "cell0")]
    report = made(acts=(*acts, Act(1.32, "unpin", "cell0")), waits_s=(60.0,))
    assert ended(report) == {"completed": 1}


REQUEUED_AND_HELD = {
    "fates": ("requeued",), "waits_s": (5.0,), "runs_s": (30.0,), "waits": 0.0,
    "acts": (Act(1.0, "submit", "cell0"), Act(38.0, "hold", "cell0"), Act(300.0, "release", "cell0")),
}  # fmt: skip


def test_a_job_that_was_sent_back_to_its_queue_can_be_held_there(made):
    report = made(**REQUEUED_AND_HELD)
    assert ended(report) == {"completed": 1}


# ---- and without what mends it, the same plans are red


def test_without_the_closing_a_late_script_runs_for_nobody(made, monkeypatch):
    async def open_end(self, batch, tasks):
        return None

    monkeypatch.setattr(submit.Submitter, "_closed", open_end)
    made(holds=False, **LATE_SCRIPT_OF_A_CANCELLED_TASK)


def test_without_noclobber_a_script_that_comes_again_submits_again(made, monkeypatch):
    def careless(folder, command, **how):
        script = submit_script(folder, command, **how)
        assert "set -C; " in script
        return script.replace("set -C; ", "")

    made(real_shell=True, **SHELL_DIES_AND_ITS_SCRIPT_COMES_AGAIN).trace.clear()
    monkeypatch.setattr(submit, "submit_script", careless)
    made(holds=False, real_shell=True, **SHELL_DIES_AND_ITS_SCRIPT_COMES_AGAIN)


def test_without_a_look_at_the_name_another_job_ends_the_task(made, monkeypatch):
    def by_id(attempt, rows):
        return next((row for row in rows if attempt.native is not None and row.job.id == attempt.native.id), None)

    monkeypatch.setattr(watch, "row_of", by_id)
    made(holds=False, **ID_IS_GIVEN_TO_ANOTHER)


def test_without_a_look_for_its_answer_an_array_is_submitted_again(made, monkeypatch):
    async def no_look(self, batch):
        return await self._note(batch, "attempt.state_changed", {}, state=State.WAITING)

    plan = {**THREE_MEMBERS, "forced": {"submit": ["lost_after"]}}
    made(**plan)
    monkeypatch.setattr(submit.Submitter, "_find", no_look)
    made(holds=False, **plan)


def test_without_a_look_at_the_user_s_wish_what_is_held_is_sent(made, monkeypatch, sent_later):
    monkeypatch.setattr(attempt_book, "_unwanted", lambda connection, before: False)
    made(holds=False, **{**THREE_MEMBERS, "acts": HELD})
