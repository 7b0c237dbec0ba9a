"""What may follow a failure: the guards and budgets, as tables, and what is said of each step."""

from typing import get_args

import pytest

from jupyter_diamond.engine.heal.causes import Cause
from jupyter_diamond.engine.heal.healer import at_its_files
from jupyter_diamond.engine.heal.places import choose, out_of_reach
from jupyter_diamond.engine.heal.steps import (
    Follow,
    Stop,
    begins_with,
    continued,
    in_force,
    moves_left,
    next_step,
    retries_used,
    why,
)
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import Checkpoint, FailureClass, Healing
from jupyter_diamond.model.states import State
from tests.engine.heal.samples import GIB, HOUR, against, attempt, candidate, decision, size, task

A, B = Checkpoint(name="step-1", mark="1"), Checkpoint(name="step-2", mark="1")
HEALED = {"oom", "timeout", "node", "preempt", "launch", "endpoint"}


def failed(failure, n=1, **fields):
    return attempt(n, failure=failure, **fields)


def step_after(failure, *attempts, **fields):
    attempts = attempts or (failed(failure),)
    return next_step(task(*attempts, **fields), Cause(failure=failure))


@pytest.mark.parametrize("failure", get_args(FailureClass))
def test_only_what_another_try_can_mend_is_tried_again(failure):
    assert isinstance(step_after(failure), Follow) is (failure in HEALED)


@pytest.mark.parametrize("failure", get_args(FailureClass))
def test_nothing_follows_what_the_user_cancelled(failure):
    assert step_after(failure, cancel_requested_by="you") == Stop("You cancelled it.")


@pytest.mark.parametrize("failure", get_args(FailureClass))
def test_every_stop_says_why(failure):
    stop = step_after(failure, healing=Healing(retries=0, moves=0))
    assert isinstance(stop, Stop)
    assert stop.why.endswith(".")


MEMORY = [
    ("doubles", 4, 16, (6, 8)),
    ("up to what is allowed", 4, 7, (6, 7)),
    ("at least half more", 4, 6, (6, 6)),
    ("less than half more is not worth a try", 4, 5, None),
    ("there is no more", 4, 4, None),
]


@pytest.mark.parametrize(("case", "had", "most", "asked"), MEMORY, ids=[row[0] for row in MEMORY])
def test_out_of_memory_asks_for_more_inside_the_envelope(case, had, most, asked):
    before = failed("oom", size=size(memory_bytes=had * GIB))
    range_ = Envelope(memory_bytes=Span(min=GIB, max=most * GIB))
    step = next_step(task(before, envelope=range_), Cause(failure="oom"))
    if asked is None:
        assert "--memory allows no more" in step.why
        assert step.change == "Give it a range: --memory 4G-16G."
    else:
        assert (step.step, step.more) == ("resize", "memory")
        assert step.envelope.memory_bytes == Span(min=asked[0] * GIB, max=asked[1] * GIB)


def test_memory_that_nobody_asked_for_cannot_be_doubled():
    before = failed("oom", size=size(memory_bytes=None))
    assert "gives unasked" in next_step(task(before, envelope=Envelope()), Cause(failure="oom")).why


def test_the_gpus_memory_is_no_matter_of_the_nodes():
    stop = next_step(task(failed("oom")), Cause(failure="oom", of_gpu=True))
    assert "--gpu-memory" in stop.change


def test_a_time_limit_asks_for_more_time_inside_the_envelope():
    step = step_after("timeout")
    assert (step.step, step.more, step.envelope.walltime_s) == ("resize", "time", Span(min=5400, max=2 * HOUR))
    stop = step_after("timeout", envelope=Envelope(walltime_s=Span.exactly(HOUR)))
    assert "--time 1h-4h" in stop.change
    assert "--segments" in stop.change


def test_a_time_limit_begins_the_next_segment_until_there_is_none_left():
    first = failed("timeout", checkpoint=A)
    step = step_after("timeout", first, healing=Healing(segments=2))
    assert (step.where, step.saved) == ("here", ", from checkpoint step-1")
    assert (step.step, step.segment, step.envelope.walltime_s) == ("segment", 2, Span(min=HOUR, max=4 * HOUR))
    last = failed("timeout", 2, step="segment", segment=2, checkpoint=B)
    assert step_after("timeout", first, last, healing=Healing(segments=2)).step == "resize"


def test_segments_are_no_retries():
    pieces = [
        failed("timeout", n, step="segment", segment=n, checkpoint=Checkpoint(name=f"step-{n}", mark="1"))
        for n in range(1, 6)
    ]
    several = task(*pieces, healing=Healing(retries=0, segments=9))
    assert retries_used(several) == 0
    assert next_step(several, Cause(failure="timeout")).segment == 6


def test_what_was_learnt_is_kept_through_other_failures():
    """After 4G were too little, a node that fails under 8G does not bring 4G back."""
    story = task(failed("oom"), failed("node", 2, step="resize", size=size(memory_bytes=8 * GIB)))
    assert next_step(story, Cause(failure="node")).envelope.memory_bytes == Span(min=6 * GIB, max=8 * GIB)
    assert in_force(story).walltime_s == story.envelope.walltime_s


def test_the_budget_of_retries_ends():
    story = [failed("node"), *(failed("node", n, step="retry") for n in (2, 3, 4))]
    assert isinstance(step_after("node", *story[:3]), Follow)
    stop = step_after("node", *story)
    assert "tried again 3 times" in stop.why
    assert "--retries 6" in stop.change


def test_a_move_of_one_that_waited_is_no_retry():
    waited = attempt(1, state=State.CANCELLED)
    story = task(waited, failed("node", 2, step="migrate", site="anvil"), healing=Healing(retries=1, moves=1))
    assert (retries_used(story), moves_left(story)) == (0, 0)
    step = next_step(story, Cause(failure="node"))
    assert (step.step, step.where) == ("retry", "here")


@pytest.mark.parametrize(("failure", "where"), [
    ("node", "anywhere"), ("preempt", "anywhere"), ("endpoint", "anywhere"), ("oom", "here_first"),
    ("timeout", "here_first"), ("launch", "elsewhere"),
])  # fmt: skip
def test_where_it_may_go_on(failure, where):
    assert step_after(failure).where == where


def test_what_could_not_begin_where_it_is_pinned_stops():
    stop = step_after("launch", asked={"site": "delta"})
    assert "without --site delta" in stop.change


def test_a_pin_that_was_taken_back_counts_no_more():
    free = task(failed("launch"), asked={"site": "delta", "partition": "cpu"})
    step = next_step(free, Cause(failure="launch"), pin=Envelope())
    assert (step.where, step.envelope.site, step.envelope.partition) == ("elsewhere", None, None)


SENTENCES = [
    ("oom", {"size": size(memory_bytes=8 * GIB)}, "Run again with 8G: attempt 1 ran out of memory at 4G."),
    ("timeout", {"size": size(walltime_s=2 * HOUR)}, "Run again with 2 h: attempt 1 reached its time limit of 1 h."),
    ("node", {}, "Run again: the node cn01 failed under attempt 1."),
    ("node", {"site": "anvil", "partition": "shared"}, "Moved to anvil:shared: the node cn01 failed under attempt 1."),
    ("preempt", {}, "Run again: attempt 1 had to make room for another job at delta."),
    ("launch", {"site": "vista", "partition": "gg"}, "Moved to vista:gg: attempt 1 could not begin at delta."),
    ("oom", {"site": "anvil", "partition": "highmem", "size": size(memory_bytes=8 * GIB)},
     "Moved to anvil:highmem with 8G: attempt 1 ran out of memory at 4G."),
]  # fmt: skip


@pytest.mark.parametrize(("failure", "after", "sentence"), SENTENCES, ids=[row[2][:30] for row in SENTENCES])
def test_each_step_is_one_plain_sentence(failure, after, sentence):
    before = failed(failure)
    step = next_step(task(before), Cause(failure=failure))
    assert why(step, before, attempt(2, **after)) == sentence


def test_a_segment_says_which_of_how_many():
    before = failed("timeout", checkpoint=A)
    step = step_after("timeout", before, healing=Healing(segments=5))
    said = "Segment 2 of 5, from checkpoint step-1: attempt 1 reached its time limit of 1 h."
    assert why(step, before, attempt(2), segments=5) == said


def in_segments(*checkpoints, failure="timeout", allowed=5, **fields):
    """A task whose n-th attempt did segment n and left the n-th of these."""
    attempts = [
        failed(failure, n, step="segment" if n > 1 else "first", segment=n, checkpoint=each, **fields)
        for n, each in enumerate(checkpoints, 1)
    ]
    return task(*attempts, healing=Healing(segments=allowed))


STOPPED = [
    ("no checkpoint", (None,), "Segment 1 left no checkpoint, so the next one would begin anew."),
    ("the same", (A, A), "Segment 2 got no further than checkpoint step-1, with which it began; neither would another."),
    ("gone", (A, B, None), "Segment 3 left no checkpoint, so the next one would begin anew."),
]  # fmt: skip


@pytest.mark.parametrize(("case", "left", "sentence"), STOPPED, ids=[row[0] for row in STOPPED])
@pytest.mark.parametrize("by_itself", [False, True], ids=["time limit", "left off"])
def test_a_segment_that_got_no_further_is_the_last(case, left, sentence, by_itself):
    work = in_segments(*left, failure=None if by_itself else "timeout")
    stop = continued(work) if by_itself else next_step(work, Cause(failure="timeout"))
    assert isinstance(stop, Stop)
    assert stop.why == sentence


def test_one_that_has_the_name_of_another_is_progress_all_the_same():
    again = Checkpoint(name="last", mark="2")
    assert continued(in_segments(Checkpoint(name="last", mark="1"), again, failure=None)).segment == 3


def test_leaving_off_is_followed_at_the_same_site_and_costs_no_retry():
    work = in_segments(A, B, failure=None).model_copy(update={"healing": Healing(retries=0, moves=0, segments=3)})
    step = continued(work)
    assert (step.step, step.where, step.segment) == ("segment", "here", 3)
    said = "Segment 3 of 3, from checkpoint step-2: attempt 2 left off to be continued."
    assert why(step, work.attempts[-1], attempt(3), segments=3) == said
    last = continued(in_segments(A, B, failure=None, allowed=2))
    assert last.why == "It left off to be continued, and 2 segments is all that --segments allows."
    assert continued(work.model_copy(update={"cancel_requested_by": "you"})) == Stop("You cancelled it.")


def test_a_later_segment_does_not_leave_the_site_of_its_checkpoints():
    work = in_segments(A, None, failure="node")
    assert next_step(work, Cause(failure="node")).where == "here"
    assert "could not begin at delta, where the work's checkpoints are" in next_step(work, Cause(failure="launch")).why
    only = decision(candidate("anvil", 1), candidate("delta", None))
    assert choose(only, work, "here") == "delta cannot take it now, and its checkpoints are there."


def test_one_that_saved_something_goes_elsewhere_only_where_it_must_and_says_what_that_means():
    before = failed("node", checkpoint=A)
    step = next_step(task(before), Cause(failure="node"))
    assert step.where == "here_first"
    moved = why(step, before, attempt(2, site="anvil"))
    assert moved.endswith("under attempt 1. Its checkpoints stay at delta, so it begins anew there.")


@pytest.mark.parametrize(("asked", "pinned"), [
    ({}, None), ({"site": "delta", "partition": "cpu"}, "cpu"), ({"site": "anvil", "partition": "x"}, None),
])  # fmt: skip
def test_another_plan_stays_at_the_checkpoints(asked, pinned):
    kept = at_its_files(in_segments(A, None), Envelope(**asked))
    assert (kept.site, kept.partition) == ("delta", pinned)
    assert at_its_files(task(), Envelope(**asked)) == Envelope(**asked)
    assert at_its_files(in_segments(A, None), Envelope(account="abc")).account == "abc"
    assert at_its_files(in_segments(A, None), Envelope(site="delta", partition="cpu"), unpin=True).partition is None


POOL = (candidate("anvil", 1, "shared"), candidate("delta", 2), candidate("vista", 3, "gg"))


@pytest.mark.parametrize(("where", "site"), [
    ("here", "delta"), ("here_first", "delta"), ("anywhere", "anvil"), ("elsewhere", "anvil"),
])  # fmt: skip
def test_the_best_of_the_places_that_are_open_is_taken(where, site):
    choice, kept = choose(decision(*POOL), task(), where)
    assert choice.site == site
    assert kept.choice == choice, "the stored decision says what was done"
    assert site in kept.sentence or kept.chosen == 0
    assert kept.chosen not in kept.alternatives


def test_a_site_where_it_could_not_begin_is_not_tried_again():
    story = task(failed("launch", site="anvil"), failed("launch", 2, step="migrate"), healing=Healing(moves=3))
    choice, _ = choose(decision(*POOL), story, "elsewhere")
    assert choice.site == "vista"
    assert choose(decision(*POOL[:2]), story, "elsewhere") == "no place besides delta can take it."


def test_memory_is_sought_elsewhere_only_where_the_site_has_none():
    only = decision(candidate("anvil", 1, "highmem"), candidate("delta", None))
    assert choose(only, task(), "here_first")[0].site == "anvil"
    assert choose(only, task(), "here") == "delta cannot take it now, and it may not move (--moves)."


def test_a_simulated_site_takes_nothing():
    assert isinstance(choose(decision(candidate("toy", 1, simulated=True)), task(), "anywhere"), str)


def test_a_pool_that_does_not_answer_is_waited_for():
    silent = candidate("delta", None, verdicts=(against("health", "health"),))
    assert out_of_reach(decision(silent, candidate("anvil", None, verdicts=(against("capacity"),))))
    assert not out_of_reach(decision(candidate("anvil", None, verdicts=(against("capacity"), against("health")))))


@pytest.mark.parametrize(
    ("retries", "failures", "begins"),
    [(3, [], (4, 4)), (3, ["node"], (4, 4)), (0, [], (4, 16)), (3, ["oom"], (4, 16)), (3, ["oom", "node"], (4, 16))],
)
def test_memory_begins_at_the_least_while_more_can_follow(retries, failures, begins):
    envelope = Envelope(memory_bytes=Span(min=4 << 30, max=16 << 30), cpus=Span(min=1, max=8))
    before = [failed(each, n) for n, each in enumerate(failures, 1)]
    sized = begins_with(envelope, retries, before)
    assert sized.memory_bytes == Span(min=begins[0] << 30, max=begins[1] << 30)
    assert sized.model_copy(update={"memory_bytes": envelope.memory_bytes}) == envelope
    assert begins_with(Envelope(), retries, before).memory_bytes is None
