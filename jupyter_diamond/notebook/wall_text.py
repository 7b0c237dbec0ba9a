"""The wall as static HTML and as plain text, for a saved notebook, nbconvert and a diff. Everything is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from jupyter_diamond.model.base import from_epoch

from .card_text import printable
from .static_files import style_line
from .vocabulary import age, outage_text
from .wall_view import Wall

SEGMENTS = 8


def static_bundle(wall: Wall, as_of: str) -> dict[str, Any]:
    """Mime bundle of the wall at one instant."""
    return {"text/html": html(wall, as_of), "text/plain": plain(wall, as_of)}


def sum_text(total: dict[str, Any]) -> str:
    """``18``, ``≥ 18`` when a site did not tell its part, ``?`` when none did."""
    if total["value"] is None:
        return "?"
    return f"{'≥ ' if total['without'] else ''}{total['value']:,}"


def lit(row: dict[str, Any]) -> int | None:
    """How many of eight segments are busy: none only when nothing is, all only when nothing is free."""
    busy, total = row["busy"], row["total"]
    if busy is None or not row["open"]:
        return None
    if busy <= 0 or total <= 0:
        return 0
    return SEGMENTS if busy >= total else min(SEGMENTS - 1, max(1, int(SEGMENTS * busy / total + 0.5)))


def bar(row: dict[str, Any]) -> str:
    """The busy share in eight segments."""
    count = lit(row)
    return "?" * SEGMENTS if count is None else "▮" * count + "▯" * (SEGMENTS - count)


def free_text(row: dict[str, Any]) -> str:
    """``6 GPUs``, ``190 cores``; the state's word where it takes no jobs."""
    if not row["open"]:
        return str(row["state"])
    return (
        "? " + row["unit"] + "s"
        if row["free"] is None
        else f"{row['free']:,} {row['unit']}{'' if row['free'] == 1 else 's'}"
    )


def mine_text(row: dict[str, Any]) -> str:
    """``1● 2○``: yours that run and that wait; empty when there are none."""
    parts = [(row["mine_running"], "●"), (row["mine_pending"], "○")]
    return " ".join(f"{_number(count)}{mark}" for count, mark in parts if count != 0)


def age_text(site: dict[str, Any], now: float) -> str:
    """How old a site's numbers are."""
    return "never read" if site["read_at"] is None else age(now - site["read_at"])


def problem_text(site: dict[str, Any], now: float) -> str:
    """What is wrong, since when, and when it is tried again."""
    since, again = (None if site[key] is None else from_epoch(site[key]) for key in ("since", "again"))
    return f"{site['problem']} {outage_text(since, again, from_epoch(now))}".strip() if site["problem"] else ""


def plain(wall: Wall, as_of: str) -> str:
    """One line a site, one a partition."""
    head = " · ".join(f"{sum_text(total)} {total['label']}" for total in wall["strip"]["sums"])
    lines = [f"{head} · as of {as_of}" + (" · simulated" if wall["strip"]["simulated"] else "")]
    for name in wall["order"]:
        site, rows = wall["sites"][name], wall["rows"].get(name, {})
        word = f"{site['mark']} {name}  {site['means']}  {site['word']}  {age_text(site, wall['strip']['now'])}"
        lines.append(word)
        if site["problem"]:
            lines.append(f"    {problem_text(site, wall['strip']['now'])}")
        lines += _aligned([
            ["    " + row["name"], bar(row), free_text(row), f"{_number(row['pending'])} pending",
             mine_text(row), f"limit {row['cap']}"]
            for row in rows.values()
        ])  # fmt: skip
    return printable("\n".join(lines))


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    left = {0, 1}
    return [
        "  ".join(
            cell.ljust(widths[at]) if at in left else cell.rjust(widths[at]) for at, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def html(wall: Wall, as_of: str) -> str:
    """A table that reads well with all styles stripped."""
    head = "".join(f"<th>{_e(text)}</th>" for text in ("partition", "busy", "free", "pending", "yours", "limit"))
    body = "".join(
        _site_html(wall["sites"][name], wall["rows"].get(name, {}), wall["strip"]["now"]) for name in wall["order"]
    )
    sums = " · ".join(f"<b>{_e(sum_text(total))}</b> {_e(total['label'])}" for total in wall["strip"]["sums"])
    return (
        f'<div class="jd-wall jd-wall-static"><style>{style_line("wall_static.css")}</style>'
        f"<div>{sums} · as of {_e(as_of)}</div>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _site_html(site: dict[str, Any], rows: dict[str, Any], now: float) -> str:
    about = f"{site['means']} · {site['mark']} {site['word']} · {age_text(site, now)}"
    problem = f"<br>{_e(problem_text(site, now))}" if site["problem"] else ""
    lines = "".join(
        "<tr>"
        + "".join(
            f"<td>{_e(text)}</td>"
            for text in (
                row["name"],
                bar(row),
                free_text(row),
                _number(row["pending"]),
                mine_text(row),
                row["cap"],
            )
        )
        + "</tr>"
        for row in rows.values()
    )
    head = f"{_e(site['name'])} <span>{_e(about)}</span>{problem}"
    return f'<tr><th colspan="6" class="jd-wall-site">{head}</th></tr>{lines}'


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _e(text: str) -> str:
    return escape(printable(str(text)), quote=True)
