"""The rule about the environment that a cell runs in: the site has it, or can build it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jupyter_diamond.model.decision import Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import Environment

from . import words
from .environment_at import EnvironmentAt
from .place import NO_CHANGE, Change, Place, verdict
from .world import World

RULE = "environment"
_GOOD = frozenset({"named", "built", "to_build"})


def with_environment(world: World, known: Mapping[str, EnvironmentAt]) -> World:
    """The world of a task with an environment: a build is part of getting ready, once.

    Where nobody knows how long it takes, nobody knows how long getting ready does.
    """
    prepare_s = dict(world.prepare_s)
    for site, each in known.items():
        if each.there != "to_build":
            continue
        if each.build_s is None:
            prepare_s.pop(site, None)
        else:
            prepare_s[site] = prepare_s.get(site, 0.0) + each.build_s
    return replace(world, prepare_s=prepare_s, environment=known)


def environment(envelope: Envelope, place: Place, world: World) -> tuple[Verdict, ...]:
    """Whether the place's site has the environment that is asked; nothing where none is."""
    asked = envelope.env
    if asked is None:
        return ()
    known = world.environment.get(place.site.name) or EnvironmentAt("unknown")
    required = asked.name
    if known.there in _GOOD:
        observed, sentence = _good(asked, known)
        return (verdict(RULE, "pass", observed, required, sentence),)
    if known.there == "failed":
        sentence = f"Its build failed here the last time: {words.clause(known.said)[:200]}."
        return (verdict(RULE, "unknown", "failed", required, sentence),)
    if known.there == "unknown":
        why = f" ({words.clause(known.said)[:200]})" if known.said else ""
        return (verdict(RULE, "unknown", "unknown", required, f"Whether it can be built here is not known{why}."),)
    observed, sentence = _lacks(asked, known)
    return (verdict(RULE, "fail", observed, required, sentence, change=_elsewhere(place, world)),)


def _good(asked: Environment, known: EnvironmentAt) -> tuple[str, str]:
    if known.there == "named":
        return asked.name, f"It has the environment {asked.name}."
    if known.there == "built":
        return "built", f"The environment {asked.name} was built here before."
    if known.build_s is None:
        return "to be built", f"The environment {asked.name} is built here first; how long that takes is not known."
    return "to be built", f"The environment {asked.name} is built here first, in about {words.duration(known.build_s)}."


def _lacks(asked: Environment, known: EnvironmentAt) -> tuple[str, str]:
    if known.there == "no_uv":
        return "no uv", "It has no uv to build an environment with."
    if known.there == "off":
        return "builds none", "Nothing is built here: builds_environments is off in the site catalogue."
    if known.there == "broken":
        return "does not start", f"Its environment {asked.name} cannot be used: {words.clause(known.said)[:200]}."
    return "none of that name", f"It has no environment {asked.name}."


def _elsewhere(place: Place, world: World) -> Change:
    """The sites that have it."""
    others = sorted(name for name, each in world.environment.items() if each.there in _GOOD and name != place.site.name)
    if not others:
        return NO_CHANGE
    return Change(f"--site {others[0]}", f"choose {_one_of(others)}")


def _one_of(names: list[str]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
