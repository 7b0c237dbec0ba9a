"""Where a task's data lies decides where it runs, as far as bringing it takes longer than the queues differ."""

import pytest

from jupyter_diamond.model.data import StageIn
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.placement.data_at import DataAt
from jupyter_diamond.placement.data_rules import with_data
from jupyter_diamond.placement.explain import explain
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World
from tests.placement.profiles import NOW, reading
from tests.placement.test_outcome_rules import rec

GB = 10**9
NEEDS = Envelope(walltime_s=Span.exactly(7200), runtime=Runtime(seconds=3600), stage_in=(StageIn(name="imagenet"),))


def placed(envelope=NEEDS, **known):
    names = sorted(known)
    world = World(forecaster=Forecaster(now=NOW.timestamp()))
    world = with_data(world, {name: [each] for name, each in known.items() if each is not None})
    sites = tuple(Site(name=name, scheduler="slurm", account="abc") for name in names)
    readings = tuple(reading(rec("cpu")).model_copy(update={"site": name}) for name in names)
    return decide(envelope, Snapshot(id=1, taken_at=NOW, sites=readings), sites, now=NOW, world=world)


def comes(gb, rate=None, mover="rsync"):
    return DataAt("imagenet", "comes", gb * GB, "home", mover, rate)


THERE = DataAt("imagenet", "there")


def verdict(decision, site):
    candidate = next(each for each in decision.candidates if each.site == site)
    return next(each for each in candidate.verdicts if each.rule == "data")


def test_it_runs_where_its_data_lies_and_says_why():
    decision = placed(a=comes(48, 20e6), b=THERE)
    assert decision.choice.site == "b"
    assert [each.estimate.transfer_s for each in decision.candidates] == [2400.0, 0.0]
    assert "needs 40 min to move the data" in " ".join(explain(decision).split())


def test_what_was_seen_is_told_apart_from_what_is_assumed():
    seen, assumed = placed(a=comes(48, 20e6)), placed(a=comes(48))
    assert verdict(seen, "a").sentence == (
        "imagenet (44.7G) comes from home by rsync, in about 40 min, as fast as that way was seen to be."
    )
    assert "as is assumed: nobody has seen how fast that way is" in verdict(assumed, "a").sentence
    assert verdict(placed(a=THERE), "a").sentence == "What it needs lies here already: imagenet."


def test_where_it_cannot_get_to_is_refused_with_where_it_lies():
    decision = placed(a=DataAt("imagenet", "no_way", said="No collection is known for a."), b=THERE)
    found = verdict(decision, "a")
    assert (found.answer, found.change) == ("fail", "--site b")
    assert found.sentence == "imagenet cannot get here: no collection is known for a: choose b, where it lies."


@pytest.mark.parametrize("known", [None, DataAt("imagenet", "unknown", said="home does not answer.")])
def test_what_is_not_known_is_no_yes_and_no_zero(known):
    decision = placed(a=known)
    assert verdict(decision, "a").answer == "unknown"
    assert decision.choice is None
    assert decision.candidates[0].estimate is None or decision.candidates[0].estimate.transfer_s is None


def test_a_size_that_nobody_knows_leaves_the_time_unknown():
    decision = placed(a=DataAt("imagenet", "comes", None, "home", "globus"))
    assert decision.choice.site == "a"
    assert decision.choice.estimate.transfer_s is None
    assert "how long that takes is not known" in verdict(decision, "a").sentence


def test_who_needs_nothing_is_asked_nothing():
    decision = placed(NEEDS.model_copy(update={"stage_in": ()}), a=None)
    assert [each.rule for each in decision.candidates[0].verdicts if each.rule == "data"] == []
