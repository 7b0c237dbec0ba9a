"""Secrets that must reach no model and no other program: known ones by their value, others by their shape.

A job's log may print its environment, and a site may quote a command line. What an agent is shown is searched for the
values of this server's own secrets, and for what looks like a key of a well-known service; both are blotted out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

BLOT = "[a secret, left out]"
_NAMES = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(^|_)KEY$", re.IGNORECASE
)
_SHORTEST = 8
_PART = 8
"""So many characters of a secret's end are blotted out at the begin of a text, which may have been cut there."""
_SHAPES = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,200}|\bgh[pousr]_[A-Za-z0-9]{30,255}|\bgithub_pat_[A-Za-z0-9_]{30,255}"
    r"|\bhf_[A-Za-z0-9]{30,100}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{20,200}|\bAIza[0-9A-Za-z_-]{35}\b"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,2000}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s]{0,8000}(-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
    r"|(?<=://)[^\s/:@]{1,100}:[^\s/@]{3,200}(?=@)"
)


class Secrets:
    """What this server knows to be secret. The environment is read anew for each text."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._known: set[str] = set()

    def know(self, *values: str | None) -> None:
        """Take these for secrets, too; what is too short to be one is passed over."""
        self._known |= {value for value in values if value and _is_secret(value)}

    def blot(self, text: str) -> str:
        """The text without any of them."""
        found = _SHAPES.sub(BLOT, text)
        for value in self._values():
            found = found.replace(value, BLOT)
            for length in range(min(len(value) - 1, len(found)), _PART - 1, -1):
                if found.startswith(value[-length:]):
                    found = BLOT + found[length:]
                    break
        return found

    def blot_all(self, content: Any) -> Any:
        """The same of every text in JSON, names of fields included."""
        if isinstance(content, str):
            return self.blot(content)
        if isinstance(content, dict):
            return {self.blot(str(name)): self.blot_all(value) for name, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.blot_all(each) for each in content]
        return content

    def _values(self) -> Iterable[str]:
        """Longest first: one may be a part of another."""
        of_environment = {value for name, value in self._environ.items() if _NAMES.search(name) and _is_secret(value)}
        return sorted(self._known | of_environment, key=len, reverse=True)


def _is_secret(value: str) -> bool:
    """Long enough to be no word, and no path or sentence."""
    return len(value) >= _SHORTEST and not value.startswith(("/", "~", "./")) and not any(map(str.isspace, value))
