"""Why a proposal is not done, in one sentence. Pure."""

from __future__ import annotations

from datetime import datetime

from jupyter_diamond.model.proposal import Proposal

OTHER = "What you approve is not what is proposed now; look at it again. Nothing was approved."


def when(moment: datetime) -> str:
    """``2026-11-30 16:20 UTC``: one form, whoever reads it where."""
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def foreign_since(moment: datetime) -> str:
    """That text from outside is in the conversation, as a clause."""
    return f"text from outside (a log, a file's name, an output) came into the conversation at {when(moment)}"


def refusal(found: Proposal, at: datetime) -> str:
    """Why it may not be done, whoever asks; empty where a word or a budget is all that it may lack."""
    if found.standing == "denied":
        because = f": {found.reason}" if found.reason else ""
        return f"{found.title}: {found.decided_by or 'its user'} said not now{because}. Nothing was done."
    if found.standing == "void":
        return f"{found.title}: its proposal is void. {found.reason} Propose it anew."
    if found.standing == "done":
        return f"{found.title}: that was done already."
    late = found.began_at is None and found.expires_at <= at
    if found.standing == "expired" or late:
        return f"{found.title}: that was to be decided and done by {when(found.expires_at)}. Propose it anew."
    return ""
