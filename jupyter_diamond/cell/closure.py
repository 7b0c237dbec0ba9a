"""Follows names through the notebook until everything that a cell needs has a way to travel."""

from __future__ import annotations

import difflib
import hashlib
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jupyter_diamond.errors import CaptureRefused
from jupyter_diamond.model.task import Captured
from jupyter_diamond.model.views import Limits

from .history import CellHistory
from .imports import module_binding, object_binding
from .kernel_names import KERNELS_OWN, is_provided, kernel_sentence
from .local_modules import LocalModules
from .names import Names
from .order import Needs, in_order
from .sizes import bytes_text, shape_text
from .sources import Definition, find_definition, is_born_here
from .spec import PackedValue, Statement
from .values import Values, made_by_older_class

_NOTHING: frozenset[str] = frozenset()


class Closure:
    """Collects names; each ends in ``captured``, those that cannot travel also in ``refusals``.

    ``bound`` are the names that the cell binds itself: a function may read them without the notebook having them.
    ``supplied`` are there before everything else, whatever the notebook has under these names; ``supplied_read`` are
    those of them that something reads.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        *,
        folder: Path,
        history: CellHistory,
        limits: Limits,
        bound: set[str],
        supplied: frozenset[str] = _NOTHING,
    ) -> None:
        self.namespace = namespace
        self.history = history
        self.local = LocalModules(folder)
        self.values = Values(limits)
        self.captured: dict[str, Captured] = {}
        self.refusals: list[str] = []
        self.warnings: list[str] = []
        self.same_minor: set[str] = set()
        self.supplied_read: set[str] = set()
        self._supplied = supplied
        self._bound = bound
        self._statements: dict[str, Statement] = {}
        self._imports: dict[str, Statement] = {}
        self._definitions: dict[str, Definition] = {}
        self._modules: dict[str, types.ModuleType] = {}
        self._chains: dict[str, set[str]] = {}
        self._needs: dict[str, Needs] = {}
        self._seen: dict[str, frozenset[str]] = {}

    # --- walking --------------------------------------------------------------------------------------------------

    def add_code(self, names: Names, by: str) -> None:
        """What the cell itself reads and imports."""
        self._note(names, by)
        for name in sorted(names.reads):
            bound = names.known_at.get(name, _NOTHING)
            self.need(name, by=by, must=name in names.needed, bound=bound)

    def need(self, name: str, *, by: str, must: bool, bound: frozenset[str] = _NOTHING) -> None:
        """``by`` reads the name, when the cell has surely bound ``bound``. Without ``must``, it may be missing."""
        if name in self._supplied and name not in bound:
            self.supplied_read.add(name)
        if name in bound or name in self._supplied or is_provided(name, self.namespace):
            return
        sentence = kernel_sentence(name, self.namespace)
        if sentence:
            if must or name not in self._bound:
                self._refuse(name, sentence)
        elif name not in self.namespace:
            if must and (by == "the cell" or name not in self._bound):
                self._refuse_missing(name, by)
        elif name not in self._seen:
            self._seen[name] = bound
            self._needs[name] = Needs()
            try:
                self._find_a_way(name, self.namespace[name])
            except Exception as error:  # noqa: BLE001 - a look at the user's object runs its code: anything can come out
                self._refuse(
                    name, f"`{name}` cannot be looked at: {type(error).__name__}: {error}. Make it in the cell."
                )
        elif not self._seen[name] <= bound:  # reached again, earlier in the cell
            self._seen[name] &= bound
            self._follow(name)

    def _find_a_way(self, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            self._modules[name] = value  # bound at the end, when all its dotted uses are known
            return
        binding = object_binding(name, value)
        if binding is not None:
            self._imports[name] = Statement(name=name, source=binding.source, filename="imports of the notebook")
            for module in binding.modules:
                self.local.need(module)
            self._capture(name, value, "import", detail=binding.source.strip())
        elif not self._by_source(name, value):
            self._by_value(name, value)

    def _by_source(self, name: str, value: Any) -> bool:
        definition = find_definition(name, value, self.history, self.namespace)
        if definition is None:
            return self._as_alias(name, value)
        registry = getattr(value, "registry", None)
        if isinstance(registry, types.MappingProxyType) and len(registry) > 1:
            self._refuse(
                name,
                f"`{name}` is a functools.singledispatch function, and what was registered with it would not travel. "
                "Put it into a module beside the notebook.",
            )
            return True
        self._definitions[name] = definition
        self._statements[name] = definition.statement
        self.warnings += definition.warnings
        self._note(definition.names, f"`{name}`")
        size = len(definition.statement.source.encode("utf-8"))
        self._capture(name, value, "source", size=size, detail=definition.detail)
        self._follow(name)
        return True

    def _as_alias(self, name: str, value: Any) -> bool:
        """Another name for a function or class of the notebook: ``g = f``."""
        own = getattr(value, "__qualname__", "") if is_born_here(value) else ""
        if own == name or not own or self.namespace.get(own) is not value:
            return False
        self.need(own, by=f"`{name}`", must=True)
        if own not in self._statements:
            return False
        self._needs[name].now.add(own)
        self._statements[name] = Statement(name=name, source=f"{name} = {own}\n", filename="names of the notebook")
        self._capture(name, value, "source", size=len(f"{name} = {own}\n"), detail=f"another name for `{own}`")
        return True

    def _follow(self, name: str) -> None:
        """Go on with what a definition needs: ``now`` to be made, the rest when it is called."""
        definition = self._definitions.get(name)
        if definition is None:
            return
        names, by, needs = definition.names, f"`{name}`", self._needs[name]
        for other in sorted(names.needed | names.maybe | names.soft):
            if other != name:
                needs.now.add(other)
                self.need(other, by=by, must=other in names.needed)
        for other in sorted(names.later):
            needs.later.add(other)
            self.need(other, by=by, must=True, bound=self._seen[name])

    def _note(self, names: Names, by: str) -> None:
        """Imports, dotted uses, and calls that see any name."""
        for each in names.imports:
            if each.level:
                self.refusals.append(
                    f"`from {'.' * each.level}{each.module} import …` in {by} needs a package around it. Write the "
                    "package's name."
                )
            else:
                self.local.need(each.module, sure=each.sure)
        for name, chains in names.chains.items():
            self._chains.setdefault(name, set()).update(chains)
        self._bound = self._bound | (names.bound if by != "the cell" else set())
        if names.dynamic:
            called = ", ".join(sorted(names.dynamic))
            self.warnings.append(f"{by} uses {called}, which may read names that cannot be seen; add them with --in.")

    # --- values ---------------------------------------------------------------------------------------------------

    def _by_value(self, name: str, value: Any) -> None:
        no_source = is_born_here(value)
        try:
            found = self.values.add(name, value, by_value=no_source)
        except CaptureRefused as refusal:
            self._refuse(name, refusal.message)
            return
        detail = shape_text(value)
        if found.by_value:
            self.same_minor.add(name)
            minor = f"bytecode of Python {sys.version_info.major}.{sys.version_info.minor}"
            detail = f"{minor}, its source was not found" if no_source else f"holds {minor}"
            older = made_by_older_class(value, self.namespace)
            if older:
                self.warnings.append(
                    f"`{name}` was made by an older `{older}` than the notebook has now. Make it again to have them "
                    "agree."
                )
        for module, qualname in sorted(found.globals):
            if module != "__main__":
                self.local.need(module)
            elif qualname:
                top = qualname.partition(".")[0]
                self._needs[name].now.add(top)
                self.need(top, by=f"`{name}`", must=True)
        self._capture(name, value, "value", size=len(found.data), detail=detail)

    def _capture(self, name: str, value: Any, travels: Any, *, size: int | None = None, detail: str = "") -> None:
        kind = "class" if isinstance(value, type) else type(value).__name__
        self.captured[name] = Captured(name=name, type=kind, travels=travels, bytes=size, detail=detail)

    # --- refusals -------------------------------------------------------------------------------------------------

    def _refuse(self, name: str, sentence: str) -> None:
        self.refusals.append(sentence)
        value = self.namespace.get(name)
        kind = type(value).__name__ if name in self.namespace else ""
        self.captured[name] = Captured(name=name, type=kind, travels="refused", detail=sentence)

    def _refuse_missing(self, name: str, by: str) -> None:
        if name in self._bound:
            self._refuse(name, f"`{name}` is used before the cell assigns it, and is not defined in this notebook.")
        else:
            hint = close_match(name, self.namespace)
            self._refuse(name, f"`{name}` is used by {by} but not defined in this notebook{hint}.")

    # --- the answer -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Bind modules, list the local ones, and look at the sum of all."""
        for name, module in sorted(self._modules.items()):
            self._bind_module(name, module)
        for top, shipped in sorted(self.local.shipped.items()):
            files = f"{len(shipped.files)} files" if len(shipped.files) > 1 else next(iter(shipped.files), "")
            if self.captured.get(top) is None or self.captured[top].type == "module":
                self.captured[top] = Captured(
                    name=top, type="module", travels="module", bytes=shipped.bytes, detail=files
                )
        self.refusals += self.local.refusals
        self.warnings += self.local.warnings
        limit = self.values.limits.bundle_bytes
        total = self.values.total + sum(shipped.bytes for shipped in self.local.shipped.values())
        if total > limit:
            self.refusals.append(
                f"All that the cell needs takes {bytes_text(total)}, more than the {bytes_text(limit)} that may "
                "travel. Save large values to files and read them in the cell, or raise c.DiamondLimits.bundle_bytes."
            )

    def _bind_module(self, name: str, module: types.ModuleType) -> None:
        binding = module_binding(name, module, self._chains.get(name, ()))
        if binding is None:
            self._refuse(name, f"`{name}` is the module {module.__name__}, which no import at a site would find.")
            return
        for each in binding.modules:
            self.local.need(each)
        self._imports[name] = Statement(name=name, source=binding.source, filename="imports of the notebook")
        self._capture(name, module, "import", detail=binding.source.strip().replace("\n", "; "))

    def prelude(self) -> tuple[Statement | PackedValue, ...]:
        """What the runner does before the cell: imports, then each name after what it needs."""
        made = {name: needs for name, needs in self._needs.items() if name not in self._imports}
        items: list[Statement | PackedValue] = [self._imports[name] for name in sorted(self._imports)]
        for name in in_order(made):
            if name in self._statements:
                items.append(self._statements[name])
            elif name in self.values.encoded:
                found = self.values.encoded[name]
                digest = hashlib.sha256(found.data).hexdigest()
                items.append(
                    PackedValue(
                        name=name, codec=found.codec, file=value_file(name, found.codec), bytes=len(found.data),
                        sha256=digest,
                    )
                )  # fmt: skip
        return tuple(items)

    def value_files(self) -> dict[str, bytes]:
        """The files below ``values/``."""
        return {value_file(name, found.codec): found.data for name, found in self.values.encoded.items()}

    def module_files(self) -> dict[str, bytes]:
        """The files below ``modules/``; none when they are too large to travel."""
        paths: Iterable[tuple[str, Path]] = (
            item for shipped in self.local.shipped.values() for item in shipped.files.items()
        )
        return {} if self.refusals else {name: path.read_bytes() for name, path in paths}


def close_match(name: str, known: Iterable[str]) -> str:
    """`` (did you mean `scores`?)``, or nothing."""
    own = [other for other in known if not other.startswith("_") and other not in KERNELS_OWN]
    found = difflib.get_close_matches(name, own, n=1, cutoff=0.7)
    return f" (did you mean `{found[0]}`?)" if found else ""


def value_file(name: str, codec: str) -> str:
    """The file of a value in the bundle."""
    stem = name if name.isascii() else "v" + hashlib.sha256(name.encode("utf-8")).hexdigest()[:16]
    return f"{stem}.{codec}"
