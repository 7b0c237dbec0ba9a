"""What runs cells at a site: asked there, and remembered for a while."""

from __future__ import annotations

import json
import time

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.views import Interpreter
from jupyter_diamond.parsing.quoting import quote

_KEPT_S = 600.0
_ASK = """import importlib.util, json, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False
print(json.dumps({"version": list(sys.version_info[:3]), "executable": sys.executable,
                  "missing": [name for name in sys.argv[1:] if not there(name)]}))
"""


class Interpreters:
    """Answers of sites about their interpreters; one that lacks something is always asked anew."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._known: dict[tuple[str, str, tuple[str, ...]], Interpreter] = {}

    async def ask(self, link: SiteLink, python: str | None, modules: tuple[str, ...]) -> Interpreter:
        """The interpreter of a site's cells, and which of these modules it lacks. Raises TransportError."""
        executable = link.site.python or (python if link.transport.shares_files else None) or "python3"
        key = (link.name, executable, tuple(sorted(modules)))
        known = self._known.get(key)
        if known is None or known.missing or known.problem or time.time() - known.read_at.timestamp() > _KEPT_S:
            known = self._known[key] = await self._ask_now(link, executable, key[2])
        return known

    async def _ask_now(self, link: SiteLink, executable: str, modules: tuple[str, ...]) -> Interpreter:
        words = " ".join(quote(name, "the module name") for name in modules)
        script = f'exec {quote(executable, "the interpreter")} -c "$(cat)" {words}\n'
        done = await link.run(script, stdin=_ASK.encode(), timeout_s=self._timeout_s)
        now = from_epoch(time.time())
        try:
            said = json.loads(done.out)
            version = tuple(int(part) for part in said["version"])
            return Interpreter(
                executable=str(said["executable"]), version=(version[0], version[1], version[2]),
                missing=tuple(str(name) for name in said["missing"]), read_at=now,
            )  # fmt: skip
        except (ValueError, KeyError, IndexError, TypeError):
            said_lines = (done.err or done.out).strip().splitlines()
            why = said_lines[-1] if said_lines else f"it ended with code {done.exit}"
            return Interpreter(
                executable=executable, version=None, read_at=now,
                problem=f"{executable} does not start at {link.name}: {why}. Set python in the site catalogue.",
            )  # fmt: skip
