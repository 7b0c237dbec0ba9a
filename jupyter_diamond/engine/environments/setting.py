"""All that a cell runs in at one site, resolved: which interpreter, after which modules, in which container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.environment import Container, Environment, ModuleStart, SiteEnvironment
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.schedulers.batch_script import activation, container_script, modules_script
from jupyter_diamond.schedulers.containers import PYTHON, wrapped


@dataclass(frozen=True)
class Setting:
    """Paths are absolute at the site. ``name`` is empty for the site's own interpreter."""

    python: str
    name: str = ""
    modules: ModuleStart = field(default_factory=ModuleStart)
    env: Mapping[str, str] = field(default_factory=dict)
    activate_d: str | None = None
    container: Container | None = None

    def script(self, command: str) -> str:
        """A script for the login side: ``command``, with the interpreter in front, run as a job would run it.

        Its standard input is there as ``$diamond_stdin``: a login shell's profile may read what is not its own.
        """
        lines = ['diamond_stop() { printf "%s\\n" "$2" >&2; exit "$1"; }', *modules_script(self.modules)]
        lines += [f"export {name}={quote(value, name)}" for name, value in sorted(self.env.items())]
        lines += activation(self.activate_d)
        starts = quote(self.python, "the interpreter")
        if self.container is not None:
            lines += container_script(self.container)
            lines.append("cd /")  # the folder where this begins is none of the image
            starts = f"{wrapped(self.container, names=sorted(self.env))} {starts}"
        text = "\n".join([*lines, f"exec {starts} {command}"])
        login = " -l" if self.modules.kind == "login_shell" else ""
        whole = text if not login else f"exec bash{login} -c {_word(text)}"
        return f"diamond_stdin=$(cat); export diamond_stdin\n{whole}\n"


def own(link: SiteLink, python: str | None) -> Setting:
    """The site's own interpreter; ``python`` is the kernel's, which will do where the site sees its files."""
    site = link.site
    return Setting(site.python or (python if link.transport.shares_files else None) or PYTHON, modules=site.modules)


async def named(link: SiteLink, name: str, python: str | None) -> Setting:
    """One of the site's environments. Raises InvalidRequest where it has none of that name, and TransportError."""
    found = link.site.environments.get(name)
    if found is None:
        raise InvalidRequest(no_such(link, name))
    modules = found.modules or link.site.modules
    if found.container is not None:
        modules = modules.model_copy(update={"load": (*modules.load, *found.container.modules)})
    program = found.interpreter
    if program is not None:
        program = await expanded(link, program)
    elif found.container is not None:
        program = PYTHON
    prefix = await expanded(link, found.prefix) if found.activate_d and found.prefix is not None else None
    return Setting(
        name=name, python=program or own(link, python).python, modules=modules, env=found.env, activate_d=prefix,
        container=await _container(link, found),
    )  # fmt: skip


async def _container(link: SiteLink, found: SiteEnvironment) -> Container | None:
    container = found.container
    if container is None or not container.image.startswith("~/"):
        return container
    return container.model_copy(update={"image": await expanded(link, container.image)})


async def expanded(link: SiteLink, path: str) -> str:
    """An absolute path for one that may start with ``~``."""
    return await link.transport.expand(path) if path.startswith("~") else path


def no_such(link: SiteLink, name: str) -> str:
    """That a site has no environment of a name, and what to do."""
    others = ", ".join(link.site.environments)
    has = f"it has {others}" if others else "none is configured for it"
    return (
        f"{link.name} has no environment {name}: {has}. Name another with --env, or add {name} to environments of "
        f"{link.name} in the site catalogue."
    )


def runs(environment: SiteEnvironment) -> str:
    """What an environment is, in words."""
    container = environment.container
    if container is not None:
        inside = f" {environment.python}" if environment.python else ""
        return f"{container.runtime} {container.image}{inside}"
    load = environment.modules.load if environment.modules is not None else ()
    parts = [
        environment.interpreter or "the site's own interpreter",
        f"after module load {' '.join(load)}" if load else "",
    ]
    return " ".join(filter(None, parts))


def is_built(environment: Environment | None) -> bool:
    """Whether it is built from requirements, rather than named."""
    return environment is not None and environment.requirements is not None


def _word(text: str) -> str:
    """A script of our own, with its newlines, as one shell word."""
    return "'" + text.replace("'", "'\\''") + "'"
