"""``--env``: the name of an environment, or a file of requirements whose text travels.

Requirements are read as PEP 508 has them, by ``packaging``. What only means something on this machine is refused: the
text is installed at sites.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import PurePath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.environment import ENV_NAME, Environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore] # there before 3.11 alone

PYPROJECT = "pyproject.toml"
_OPTIONS = re.compile(
    r"(--index-url|-i|--extra-index-url|--find-links|-f)[ =](https?://\S+)|--pre|--(no-binary|only-binary)[ =][\w.,:-]+"
)
"""What may stand in requirements beside packages: whence they come, over the network, and in which form."""
_HASH = re.compile(r"\s--hash[ =](\w+:[0-9a-f]+)")
_COMMENT = re.compile(r"(^|\s)#.*$")


def is_file(text: str) -> bool:
    """Whether ``--env`` names a file rather than an environment."""
    return "/" in text or "\\" in text or PurePath(text).suffix in (".txt", ".in", ".toml")


def named(text: str) -> Environment:
    """The environment of this name. Raises InvalidRequest."""
    if is_file(text):
        raise InvalidRequest(
            f"--env {text}: a file of requirements is read where you write the line, in a notebook or on the command "
            "line; here name an environment of the site, as --env torch."
        )
    if not re.fullmatch(ENV_NAME, text):
        raise InvalidRequest(
            f"--env {text!r} is no name of an environment: a letter first, then letters, digits, dots and dashes. "
            "Write --env torch, or --env requirements.txt."
        )
    return Environment(name=text)


def from_file(path: str, text: str, python: str) -> Environment:
    """What a file of requirements, or a pyproject, asks for; ``python`` as ``3.11``. Raises InvalidRequest."""
    where = PurePath(path)
    lines = _dependencies(text, where.name) if where.suffix == ".toml" else text.splitlines()
    wanted = normalised("\n".join(lines), where.name)
    stem = re.sub(r"[^A-Za-z0-9_.-]", "-", where.stem)[:63]
    return Environment(
        name=stem if re.fullmatch(ENV_NAME, stem) else "requirements", requirements=wanted, python=python
    )


def normalised(text: str, where: str) -> str:
    """Requirements without comments, one a line, in one order: what means the same has the same text."""
    options, packages = list[str](), list[str]()
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        bare = _COMMENT.sub("", line).strip()
        if bare:
            (options if bare.startswith("-") else packages).append(_line(bare, where))
    return "".join(f"{line}\n" for line in (*dict.fromkeys(options), *sorted(set(packages))))


def digest_of(environment: Environment) -> str:
    """What an environment is found again by; not before its requirements are normalised are two texts the same."""
    asked = f"1\n{environment.python or ''}\n{environment.requirements or ''}"
    return hashlib.sha256(asked.encode()).hexdigest()


def packages_of(environment: Environment) -> tuple[str, ...]:
    """The packages that its requirements name, as indexes name them."""
    lines = [line for line in (environment.requirements or "").splitlines() if not line.startswith("-")]
    return tuple(canonicalize_name(Requirement(_HASH.sub("", line)).name) for line in lines)


def _dependencies(text: str, where: str) -> list[str]:
    try:
        project = tomllib.loads(text).get("project", {})
    except tomllib.TOMLDecodeError as problem:
        raise InvalidRequest(f"--env {where} is no TOML that can be read: {problem}.") from None
    found = project.get("dependencies") if isinstance(project, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidRequest(f"--env {where} lists no dependencies under [project]; write them there.")
    return found


def _line(text: str, where: str) -> str:
    if text.startswith("-"):
        if _OPTIONS.fullmatch(text):
            return text
        raise InvalidRequest(
            f"--env {where}: {text[:80]!r} cannot travel to a site; write packages, and --index-url or --find-links "
            "with an address."
        )
    bare, hashes = _HASH.sub("", text).strip(), _HASH.findall(text)
    try:
        wanted = Requirement(bare)
    except InvalidRequirement:
        raise InvalidRequest(
            f"--env {where}: {bare[:80]!r} is no requirement that a site can install; write a package as numpy>=2, or "
            "name @ https://…"
        ) from None
    if wanted.url is not None and not re.match(r"(git\+)?(https?|ssh)://", wanted.url):
        raise InvalidRequest(f"--env {where}: {bare[:80]!r} lies on this machine alone; give it an address.")
    plain = re.sub(r" ?@ ", " @ ", str(wanted), count=1) if wanted.url is not None else str(wanted)
    return " ".join([plain, *(f"--hash={each}" for each in sorted(hashes))])
