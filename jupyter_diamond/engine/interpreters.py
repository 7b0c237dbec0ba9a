"""What runs cells at a site: asked there, as a job would start it, and remembered for a while."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from jupyter_diamond.engine.environments.setting import Setting
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.views import Interpreter
from jupyter_diamond.parsing.quoting import quote

_KEPT_S = 600.0
_PROBLEM_S = 120.0
"""So long a place is passed over for what may be mended meanwhile."""
_MARK = "\x1e"
# runs under whatever Python a site has
_ASK = r"""import importlib.util, json, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False
def version(name):
    try:
        from importlib.metadata import version
    except ImportError:
        try:
            from pkg_resources import get_distribution
            return get_distribution(name).version
        except Exception:
            return None
    try:
        return version(name)
    except Exception:
        return None
at = sys.argv.index("/")
versions = [(name, version(name)) for name in sys.argv[at + 1:]]
sys.stdout.write("\n\036" + json.dumps({"version": list(sys.version_info[:3]), "executable": sys.executable,
    "missing": [name for name in sys.argv[1:at] if not there(name)],
    "packages": {name: found for name, found in versions if found}}) + "\n")
"""


class Interpreters:
    """Answers of sites about their interpreters; one that lacks something is always asked anew."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._known: dict[tuple[str, ...], Interpreter] = {}

    async def ask(
        self, link: SiteLink, setting: Setting, modules: Iterable[str], packages: Iterable[str] = ()
    ) -> Interpreter:
        """What runs cells there in this setting, which of these modules it lacks, and its versions of these packages.

        Raises TransportError.
        """
        asked, about = sorted(set(modules)), sorted(set(packages))
        key = (link.name, setting.name, setting.python, *asked, "/", *about)
        known = self._known.get(key)
        if known is None or known.missing or known.problem or time.time() - known.read_at.timestamp() > _KEPT_S:
            known = self._known[key] = await self._ask_now(link, setting, asked, about)
        return known

    def problem(self, site: str, environment: str) -> str:
        """What was wrong with an environment when it was asked last, lately; empty where nothing was."""
        now = time.time()
        mine = [each for key, each in self._known.items() if (key[0], each.environment) == (site, environment)]
        newest = max(mine, key=lambda each: each.read_at, default=None)
        return newest.problem if newest is not None and now - newest.read_at.timestamp() < _PROBLEM_S else ""

    async def _ask_now(self, link: SiteLink, setting: Setting, modules: list[str], packages: list[str]) -> Interpreter:
        words = " ".join(quote(each, "a module's or a package's name") for each in (*modules, "/", *packages))
        script = setting.script(f'-c "$diamond_stdin" {words}')
        done = await link.run(script, stdin=_ASK.encode(), timeout_s=self._timeout_s)
        now = from_epoch(time.time())
        try:
            said = json.loads(done.out.rpartition(_MARK)[2])
            version = tuple(int(part) for part in said["version"])
            return Interpreter(
                executable=str(said["executable"]), version=(version[0], version[1], version[2]),
                missing=tuple(str(name) for name in said["missing"]), environment=setting.name, read_at=now,
                packages={str(name): str(found) for name, found in said["packages"].items()},
            )  # fmt: skip
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            said_lines = (done.err or done.out).strip().splitlines()
            why = said_lines[-1] if said_lines else f"it ended with code {done.exit}"
            return Interpreter(
                executable=setting.python, version=None, environment=setting.name, read_at=now,
                problem=_problem(link.name, setting, why),
            )  # fmt: skip


def _problem(site: str, setting: Setting, why: str) -> str:
    fact = why.strip().rstrip(".")
    if not setting.name:
        return f"{setting.python} does not start at {site}: {fact}. Set python in the site catalogue."
    where = f"environments.{setting.name} of {site} in the site catalogue"
    return f"The environment {setting.name} does not start at {site}: {fact}. Correct {where}."
