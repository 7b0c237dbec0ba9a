"""What there is at a site for a job to run in: facts of its login node, and its environments."""

from __future__ import annotations

from argparse import Namespace

from jupyter_diamond.model.environment import BuiltEnvironment, SiteEnvironments
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.vocabulary import byte_size
from jupyter_diamond.parsing.numbers import whole

from .grammar import DONE
from .output import UNKNOWN, as_json, pairs

_FACT_NAMES = {
    "workdir": "work folder", "workdir_state": "", "workdir_free_bytes": "free there", "python": "Python",
    "python_version": "", "containers": "container runtimes", "modules": "modules start with",
}  # fmt: skip


def env(client: DiamondClient, said: Namespace) -> int:
    """Facts of a login node, and what cells can run in there."""
    found = client.site_env(said.site)
    environments = client.environments(said.site)
    if said.json:
        as_json({**found.model_dump(mode="json"), "environments": environments.model_dump(mode="json")})
        return DONE
    facts = {fact.name: fact.value or UNKNOWN for fact in found.facts}
    free = whole(found.fact("workdir_free_bytes"))
    facts["workdir"] = f"{facts['workdir']}  ({facts['workdir_state']})"
    facts["workdir_free_bytes"] = byte_size(free) if free is not None else UNKNOWN
    facts["python"] = f"{found.fact('python') or 'not found'}  {found.fact('python_version') or ''}".rstrip()
    facts["modules"] = found.fact("modules") or "none found"
    facts["containers"] = found.fact("containers") or "none found"
    lines = [(_FACT_NAMES.get(name, name), value) for name, value in facts.items() if _FACT_NAMES.get(name, name)]
    accounts = UNKNOWN if found.accounts is None else "; ".join(found.accounts) or "none"
    pairs([*lines, ("accounts", accounts), *environment_lines(environments)])
    return DONE


def environment_lines(found: SiteEnvironments) -> list[tuple[str, str]]:
    """A line for each environment, by the name that ``--env`` takes where it has one."""
    named = [(f"--env {each.name}", f"{each.runs}{f'  ({each.note})' if each.note else ''}") for each in found.named]
    built = [(f"built {each.digest[:8]}", _built(each)) for each in found.built]
    more = "may be built from requirements with --env FILE" if found.builds else "none is built there"
    return [*named, *built, ("other environments" if named or built else "environments", more)]


def _built(each: BuiltEnvironment) -> str:
    if each.state == "ready":
        return f"Python {each.python_version}, {len(each.packages)} packages: {', '.join(sorted(each.packages)[:6])}"
    return "is being built" if each.state == "building" else f"failed: {each.problem}"
