"""What programs that move bytes say when they cannot, as errors of ours."""

from __future__ import annotations

from jupyter_diamond.errors import DataFault, DataProblem, DiamondError, TransportError

_WORDS: tuple[tuple[str, DataFault, str], ...] = (
    ("No space left on device", "no_space", "Make room there."),
    ("quota exceeded", "no_space", "Make room within your quota there."),
    ("Permission denied", "permission", "Have it opened to you."),
    ("Operation not permitted", "permission", "Have it opened to you."),
    ("Read-only file system", "permission", "Choose another destination."),
    ("vanished", "changed", "Move it when nobody writes there any more."),
    ("No such file or directory", "changed", "Move it when nobody writes there any more."),
)  # fmt: skip
_LOST = ("connection unexpectedly closed", "Connection reset", "Broken pipe", "lost connection", "mux_client")


def complaint(what: str, where: str, said: str, *, lost: bool) -> DiamondError:
    """The error for a program that failed. ``lost``: its exit code says that a connection broke."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    evidence = tuple(lines[-20:])
    for words, kind, advice in _WORDS:
        line = next((line for line in lines if words.lower() in line.lower()), None)
        if line is not None:
            return DataProblem(
                f"{what} at {where}: {line[:300].rstrip('.')}.", kind=kind, advice=advice, evidence=evidence,
                transient=kind == "changed",
            )  # fmt: skip
    if lost or any(words in said for words in _LOST):
        return TransportError(
            f"The connection to {where} was lost while data moved; it goes on from what has come.",
            outcome="unknown", evidence=evidence,
        )  # fmt: skip
    last = lines[-1][:300].rstrip(".") if lines else "it gave no reason"
    return DataProblem(f"{what} at {where}: {last}.", kind="broken", transient=True, evidence=evidence)
