"""Says no before anything is queued."""

from __future__ import annotations

from jupyter_diamond.errors import CaptureRefused

from .capture import Capture


def preflight(capture: Capture) -> None:
    """Raise CaptureRefused with one message that lists every reason; return when there is none."""
    if not capture.refusals:
        return
    if len(capture.refusals) == 1:
        raise CaptureRefused(capture.refusals[0])
    reasons = "\n".join(f"- {reason}" for reason in capture.refusals)
    raise CaptureRefused(f"The cell cannot travel to a site, for {len(capture.refusals)} reasons:\n{reasons}")
