"""The environment that a cell runs in decides where it can go, and a build counts into when it is done."""

from __future__ import annotations

import pytest

from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.model.site import Site
from jupyter_diamond.placement.environment_at import EnvironmentAt
from jupyter_diamond.placement.environment_rules import environment, with_environment
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.place import Place
from jupyter_diamond.placement.world import World

HERE = Place(Site(name="here", scheduler="slurm"), "cpu", None, None)
ASKED = Envelope(env=Environment(name="torch"))


def world(prepare_s=None, **known):
    return with_environment(World(forecaster=Forecaster(now=0.0), prepare_s=prepare_s or {}), known)


def said(here, **others):
    (verdict,) = environment(ASKED, HERE, world(here=here, **others))
    return verdict


def test_nothing_is_said_where_none_is_asked_for():
    assert environment(Envelope(), HERE, world()) == ()


@pytest.mark.parametrize(
    ("known", "answer", "sentence"),
    [
        (EnvironmentAt("named"), "pass", "It has the environment torch."),
        (EnvironmentAt("built"), "pass", "The environment torch was built here before."),
        (EnvironmentAt("to_build", 90.0), "pass", "The environment torch is built here first, in about 1 min 30 s."),
        (EnvironmentAt("to_build"), "pass", "is built here first; how long that takes is not known."),
        (EnvironmentAt("unknown", said="It does not answer."), "unknown", "is not known (it does not answer)."),
        (EnvironmentAt("failed", said="No such package."), "unknown", "failed here the last time: no such package."),
        (EnvironmentAt("absent"), "fail", "It has no environment torch."),
        (EnvironmentAt("no_uv"), "fail", "It has no uv to build an environment with."),
        (EnvironmentAt("off"), "fail", "builds_environments is off in the site catalogue."),
        (EnvironmentAt("broken", said="Gone."), "fail", "Its environment torch cannot be used: gone."),
    ],
)
def test_each_way_that_it_may_stand_is_said(known, answer, sentence):
    verdict = said(known)
    assert (verdict.answer, verdict.heading) == (answer, "container")
    assert sentence in verdict.sentence


def test_a_refusal_names_the_sites_that_have_it():
    verdict = said(
        EnvironmentAt("absent"),
        delta=EnvironmentAt("named"),
        anvil=EnvironmentAt("to_build"),
        vista=EnvironmentAt("off"),
    )
    assert verdict.change == "--site anvil"
    assert verdict.sentence == "It has no environment torch: choose anvil or delta."


def test_a_build_counts_once_and_one_of_unknown_length_is_not_taken_for_none():
    known = {
        "built": EnvironmentAt("built"), "new": EnvironmentAt("to_build", 60.0), "first": EnvironmentAt("to_build", 5.0),
        "unknown": EnvironmentAt("to_build"),
    }  # fmt: skip
    found = world({"built": 2.0, "new": 2.0, "unknown": 2.0}, **known)
    assert found.prepare_s == {"built": 2.0, "new": 62.0, "first": 5.0}
