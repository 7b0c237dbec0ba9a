"""A receipt as it reads, and as a notebook shows it: facts first, then what went in, what came out, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from jupyter_diamond.model.receipt import Crate, Receipt
from jupyter_diamond.placement import words

from .card_text import printable
from .charge_text import charge_text
from .static_files import style_line
from .vocabulary import GLYPH, LOOK, byte_size, clock, place_text, size_text

_FIRST = 10
_LOG_LINES = 10


class Part(NamedTuple):
    """A heading with rows of cells."""

    title: str
    rows: Sequence[tuple[str, ...]]


def title_of(receipt: Receipt) -> str:
    """``fit[3], attempt 2``."""
    name = receipt.name if receipt.member is None else f"{receipt.member.name}[{receipt.member.index}]"
    return name if receipt.attempts == 1 else f"{name}, attempt {receipt.attempt} of {receipt.attempts}"


def facts(receipt: Receipt) -> list[tuple[str, str]]:
    """Names and values; what is not known is left out."""
    where, ended, took, ran_in = receipt.where, receipt.ended, receipt.took, receipt.ran_in
    job = ", ".join(filter(None, (where.job and f"job {where.job}", where.nodes or where.host)))
    place = place_text(where.site, where.partition)
    ran = "" if took.ran_s is None else clock(took.ran_s)
    waited = "" if took.waited_s is None else f"after {clock(took.waited_s)} in the queue"
    used = [
        "" if took.max_rss_bytes is None else f"{byte_size(took.max_rss_bytes)} of memory at most",
        "" if took.core_hours is None else words.charge(took.core_hours, "core-hour"),
        "" if not took.gpu_hours else words.charge(took.gpu_hours, "GPU-hour"),
    ]
    packages = [f"{name} {version}" for name, version in ran_in.packages.items()]
    software = [ran_in.python and f"Python {ran_in.python}", *packages, *(f"module {each}" for each in ran_in.modules)]
    notebook = receipt.code.notebook
    told = [
        ("where", ", ".join(filter(None, (place, where.account and f"account {where.account}", job)))),
        ("size", size_text(where.size)), ("cause", ended.cause), ("next", ended.next),
        ("ran", " ".join(filter(None, (ran, waited)))), ("took", ", ".join(filter(None, used))),
        ("charge", charge_text(took.charge) if took.charge is not None else ""),
        ("environment", " ".join(filter(None, (ran_in.env, ran_in.digest)))),
        ("software", ", ".join(filter(None, software[:12])) + (" …" if len(software) > 12 else "")),
        ("code", f"sha256:{receipt.code.digest}"),
        ("from", ", ".join(filter(None, (notebook.path, notebook.cell_id and f"cell {notebook.cell_id}")))),
        ("given", ", ".join(f"{name} = {value}" for name, value in receipt.params.items())),
        ("why there", receipt.decided.sentence if receipt.decided is not None else ""),
        ("folder", where.run_folder or where.folder),
    ]  # fmt: skip
    return [(name, value) for name, value in told if value]


def parts(receipt: Receipt) -> list[Part]:
    """What went in, what came out, what was before, and what to do next."""
    kept = [(each.path, byte_size(each.bytes), each.sha256[:12], each.media_type) for each in receipt.files[:_FIRST]]
    if receipt.files_count > len(kept):
        kept.append((f"and {receipt.files_count - len(kept):,} more", "", "", ""))
    total = f"{words.count(receipt.files_count, 'file')}, {byte_size(receipt.files_bytes)}"
    inputs = [(each.name, str(each.source or each.path), each.digest[:19]) for each in receipt.inputs]
    moved = [
        (each.id, f"{each.source} → {each.destination}", each.state, byte_size(each.bytes_done))
        for each in receipt.transfers
    ]
    values = [(each.about, byte_size(each.bytes or 0), each.sha256[:12]) for each in receipt.values]
    before = [
        (f"attempt {each.n}", place_text(each.site, each.partition), LOOK[each.state].word, each.cause)
        for each in receipt.before
    ]
    log = receipt.log.text.splitlines()[-_LOG_LINES:]
    listed = [
        Part("what went in", inputs), Part("transfers", moved), Part("what came back", values),
        Part("what did not come back", [(each,) for each in receipt.missing]),
        Part(f"files: {total}", kept), Part("of the files", [(receipt.files_note,)] if receipt.files_note else []),
        Part("attempts before", before), Part("the end of its log", [(line,) for line in log]),
        Part("not known now", [(each,) for each in receipt.unknown]),
        Part("to go on", [(each,) for each in receipt.actions[:4]]),
    ]  # fmt: skip
    return [part for part in listed if part.rows]


def head(receipt: Receipt) -> str:
    """``✓ fit succeeded, exit code 0``."""
    ended = receipt.ended
    look = LOOK[ended.state]
    code = "" if ended.exit_code is None else f", exit code {ended.exit_code}"
    how = "" if ended.job is None else f" (its job {LOOK[ended.job].word})"
    return f"{GLYPH[look.mark]} {title_of(receipt)} {look.word}{how}{code}"


def receipt_text(receipt: Receipt) -> str:
    """All of it as text."""
    told = facts(receipt)
    width = max(len(name) for name, _ in told)
    lines = [head(receipt), *(f"  {name.ljust(width)}  {value}" for name, value in told)]
    for part in parts(receipt):
        lines.append(f"{part.title}:")
        widths = [max(len(_line(row[at])) for row in part.rows) for at in range(len(part.rows[0]))]
        lines += [
            "  " + "  ".join(_line(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in part.rows
        ]
    return printable("\n".join(lines))


def _line(cell: str) -> str:
    """Foreign text on one line: a file's name may have several."""
    return cell.replace("\n", "\\n")


def receipt_html(receipt: Receipt) -> str:
    """The same as static HTML: everything escaped, readable in both themes."""
    tone = LOOK[receipt.ended.state].tone
    rows = "".join(f"<tr><td>{_e(name)}</td><td>{_e(value)}</td></tr>" for name, value in facts(receipt))
    body = [f'<table class="jd-table jd-facts">{rows}</table>']
    for part in parts(receipt):
        inner = "".join(f"<tr>{''.join(f'<td>{_e(cell)}</td>' for cell in row)}</tr>" for row in part.rows)
        open_ = " open" if part.title.startswith(("files", "what", "to go on", "not known")) else ""
        body.append(
            f'<details{open_}><summary class="jd-fact">{_e(part.title)}</summary>'
            f'<table class="jd-table">{inner}</table></details>'
        )
    return (
        f'<div class="jd-card jd-static jd-receipt" data-tone="{tone}"><style>{style_line("card_static.css")}</style>'
        f'<div class="jd-head"><span class="jd-state">{_e(head(receipt))}</span></div>{"".join(body)}</div>'
    )


def _e(text: str) -> str:
    return escape(printable(_line(text)), quote=True)


class Manifest:
    """A task's receipt: ``where``, ``ended``, ``took``, ``ran_in``, ``code``, ``decided``, ``inputs``, ``files`` and
    all else that it has; a notebook shows it as a card. ``receipt`` is the value itself, ``json()`` its text.
    """

    def __init__(self, receipt: Receipt) -> None:
        self.receipt = receipt

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.receipt, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *Receipt.model_fields]

    def json(self) -> str:
        """To be kept, or read by a program."""
        return self.receipt.model_dump_json(indent=1)

    def __repr__(self) -> str:
        return receipt_text(self.receipt)

    def _repr_html_(self) -> str:
        return receipt_html(self.receipt)


def crate_text(crate: Crate) -> str:
    """What was written."""
    runs = "" if crate.tasks == 1 else f"{crate.tasks:,} runs, "
    copied = f"{crate.copied:,} files copied ({byte_size(crate.copied_bytes)})"
    said = f"{crate.folder}: {runs}{copied}, {crate.referenced:,} named with their digests. README.md says what it is."
    return printable("\n".join([said, *(f"  {note}" for note in crate.notes[:10])]))
