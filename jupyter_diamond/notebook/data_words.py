"""Data and transfers in words: how far, how fast, where copies lie and how they are. Pure.

The labextension says the same; a test compares the two.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from jupyter_diamond.model.data import Dataset, DataSize, Listing, Location, Replica, ReplicaState
from jupyter_diamond.model.transfer import Progress, Transfer, TransferPlan, TransferRequest
from jupyter_diamond.placement import words

from .vocabulary import GLYPH, TRANSFER, age, byte_size, span_of_time, wall_clock

BAR = 20
CODE = "Open the page; where it shows a code, %diamond login takes it."
PURGE_SOON = timedelta(days=7)
REPLICA: dict[ReplicaState, str] = {
    "here": "there", "missing": "missing", "changed": "changed since", "unreadable": "cannot be read",
    "unknown": "not looked at yet",
}  # fmt: skip
MOVER = {
    "globus": "Globus Transfer", "rsync": "rsync", "stream": "a stream over ssh", "chunks": "Globus Compute",
    "copy": "a copy",
}  # fmt: skip


def share_done(progress: Progress) -> float | None:
    """How much of it is there, 0 to 1; None while nobody knows how much it is."""
    total = progress.bytes_total
    if total is None:
        return None
    return min(1.0, progress.bytes_done / total) if total else 1.0


def bar(share: float | None) -> str:
    """Twenty marks, none of them lit where the share is not known."""
    lit = 0 if share is None else int(share * BAR)
    return "▮" * lit + "▯" * (BAR - lit)


def progress_text(progress: Progress) -> str:
    """``31 GB of 145 GB · 88 MB/s · about 21 min left``; what is not known is left out."""
    total = progress.bytes_total
    done = byte_size(progress.bytes_done)
    parts = [done if total is None else f"{done} of {byte_size(total)}"]
    if progress.rate is not None and progress.rate > 0:
        parts.append(f"{byte_size(int(progress.rate))}/s")
    if progress.eta_s is not None:
        parts.append(f"about {span_of_time(max(1.0, progress.eta_s))} left")
    return " · ".join(parts)


def outcome_text(progress: Progress) -> str:
    """``145 GB in 1,200 files``, ``nothing had to be moved``, of one that has arrived."""
    files = "" if progress.files_total is None else f" in {words.count(progress.files_total, 'file')}"
    if progress.bytes_sent == 0:
        return f"nothing had to be moved: {byte_size(progress.bytes_done)}{files} was there"
    skipped = f", {progress.files_skipped:,} of them were there" if progress.files_skipped else ""
    return f"{byte_size(progress.bytes_done)}{files}{skipped}"


def short_place(location: Location) -> str:
    """The location with a collection's id cut short: ``globus://4f2a91cc…/datasets/x``."""
    text = str(location)
    if location.collection is None:
        return text
    return f"globus://{str(location.collection)[:8]}…/{location.path.lstrip('/')}"


def route(request: TransferRequest) -> str:
    """``globus://4f2a91cc…/datasets/x → delta:/scratch/x``."""
    return f"{short_place(request.source)} → {short_place(request.destination)}"


def what_moves(request: TransferRequest) -> str:
    """The dataset, the last part of the path, or ``8 files of it``."""
    name = request.dataset or request.source.path.rstrip("/").rsplit("/", 1)[-1] or str(request.source)
    return f"{words.count(len(request.files), 'file')} of {name}" if request.files else name


def state_word(transfer: Transfer) -> str:
    """``moving``, ``cancelled by you``, ``cancelling``."""
    by = transfer.cancel_requested_by
    if by and not transfer.ended:
        return "being cancelled"
    if by and transfer.state == "cancelled":
        return f"cancelled by {by}"
    return TRANSFER[transfer.state].word


def said_of(transfer: Transfer) -> str:
    """What is wrong, and what to do; empty where nothing is."""
    said = transfer.cause if transfer.ended else transfer.trouble
    if said and transfer.next and said[-1] not in ".!?:":
        said += "."
    return f"{said} {transfer.next}".strip()


def line(transfer: Transfer) -> str:
    """One line: ``→ imagenet  ▮▮▮▮▯▯  31 GB of 145 GB · 88 MB/s · about 21 min left``."""
    glyph = GLYPH[TRANSFER[transfer.state].mark]
    if transfer.state == "succeeded":
        return f"{glyph} {what_moves(transfer.request)}  {state_word(transfer)}: {outcome_text(transfer.progress)}"
    how = progress_text(transfer.progress)
    drawn = "" if transfer.ended else f"{bar(share_done(transfer.progress))}  "
    word = "" if transfer.state == "active" and not transfer.cancel_requested_by else f"{state_word(transfer)} · "
    return f"{glyph} {what_moves(transfer.request)}  {drawn}{word}{how}"


def size_words(size: DataSize | None) -> str:
    """``145 GB in 1,200 files``; ``?`` where nobody could look."""
    if size is None:
        return "?"
    return byte_size(size.bytes) if size.files == 1 else f"{byte_size(size.bytes)} in {words.count(size.files, 'file')}"


def replica_text(replica: Replica, now: datetime) -> str:
    """``delta:/scratch/x: there, looked at 3 min ago``, with what is wrong with it and when it goes."""
    looked = ""
    if replica.checked_at is not None:
        looked = f", looked at {age((now - replica.checked_at).total_seconds())} ago"
    made = "" if replica.given else " (staged)"
    said = f"{short_place(replica.location)}: {REPLICA[replica.state]}{made}{looked}"
    more = " ".join(part for part in (replica.problem, purge_text(replica, now)) if part)
    return f"{said}. {more}" if more else said


def purge_text(replica: Replica, now: datetime) -> str:
    """A warning while the site may delete it within a week; empty else."""
    at = replica.purge_at
    if at is None or at - now > PURGE_SOON:
        return ""
    if at <= now:
        return (
            f"{replica.location.place} may delete it at any time: nobody has touched it for as long as it keeps data."
        )
    return f"{replica.location.place} deletes it from {wall_clock(at, now)} on, unless it is touched."


def dataset_text(dataset: Dataset, now: datetime) -> str:
    """The whole of one: its size, and a line a copy."""
    lines = [f"{dataset.name}  {size_words(dataset.size)}"]
    if dataset.note:
        lines.append(dataset.note)
    if dataset.size is not None and dataset.size.digest:
        lines.append(f"digest {dataset.size.digest}")
    lines += [f"- {replica_text(each, now)}" for each in dataset.replicas]
    if not dataset.replicas:
        lines.append("No copy of it is known.")
    return "\n".join(lines)


def listing_text(listing: Listing, most: int = 20) -> str:
    """What a copy holds: its first files, and how many more."""
    lines = [f"{listing.location}  {size_words(listing.size)}"]
    lines += [
        f"{'?' if each.bytes is None else byte_size(each.bytes):>10}  {each.path}" for each in listing.files[:most]
    ]
    more = listing.size.files - min(most, len(listing.files))
    if more > 0:
        lines.append(f"and {words.count(more, 'file')} more")
    return "\n".join(lines)


def plan_text(plan: TransferPlan) -> str:
    """By what it would move, and what must be given before that."""
    rate = "" if plan.rate is None else f" Lately {byte_size(int(plan.rate))}/s between the two."
    lines = [f"By {MOVER[plan.mover]}: {plan.why}{rate}", *(need.sentence for need in plan.needs)]
    links = dict.fromkeys(need.link for need in plan.needs if need.link)
    return "\n".join((*lines, *links, *((CODE,) if links else ())))


def transfer_text(transfer: Transfer, now: datetime) -> str:
    """The whole of one: what, from where to where, how, how far, and its log."""
    request = transfer.request
    facts = [
        ("transfer", transfer.id), ("what", what_moves(request)), ("from", str(request.source)),
        ("to", str(request.destination)), ("by", f"{MOVER[transfer.mover]}: {transfer.why}".rstrip(": ")),
        ("state", f"{state_word(transfer)} since {wall_clock(transfer.state_since, now)}"),
        ("progress", "" if transfer.ended else f"{bar(share_done(transfer.progress))}  "
         f"{progress_text(transfer.progress)}"),
        ("moved", outcome_text(transfer.progress) if transfer.state == "succeeded" else ""),
        ("faults", str(transfer.progress.faults) if transfer.progress.faults else ""),
        ("Globus task", transfer.native_id or "" if transfer.mover == "globus" else ""),
        ("for task", request.task or ""), ("asked by", request.by or ""),
        ("until", "" if transfer.ended else wall_clock(transfer.deadline, now)),
        ("digest", transfer.digest or ""), ("trouble", said_of(transfer)),
        ("open", f"{transfer.link}\n{CODE}" if transfer.link else ""),
        ("log", "\n".join(transfer.log[-20:])), ("evidence", "\n".join(transfer.evidence)),
    ]  # fmt: skip
    width = max(len(name) for name, value in facts if value)
    indent = "\n" + " " * (width + 2)
    return "\n".join(f"{name:<{width}}  {value}".replace("\n", indent) for name, value in facts if value)
