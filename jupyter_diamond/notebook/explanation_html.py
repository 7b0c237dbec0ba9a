"""A stored decision as static HTML: everything escaped, readable in both themes and with all styles stripped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from jupyter_diamond.model.decision import Decision, Verdict
from jupyter_diamond.placement.comparison import blockers, is_wish
from jupyter_diamond.placement.explain import sections
from jupyter_diamond.placement.explain_rows import TERMS, Row, asked, chosen_lines, how, rows, telling_terms, weighed

from .card_text import printable
from .static_files import style_line
from .vocabulary import GLYPH

_GLYPH = {"pass": GLYPH["tick"], "fail": GLYPH["cross"], "unknown": GLYPH["question"]}
_NUMERIC = {"in all", "jobs ahead", "data age"}


def html(decision: Decision) -> str:
    """The choice, the next best, refusals by reason, and a table that unfolds to every verdict."""
    parts = [f'<p class="jd-lead">{_e(decision.sentence)}</p>', f'<p class="jd-fine">{_e(asked(decision))}</p>']
    parts.append(f'<p class="jd-fine">{_e(how(decision))}</p>')
    parts.append(_list(chosen_lines(decision)))
    parts += [f'<div class="jd-title">{_e(title)}</div>{_list(lines)}' for title, lines in sections(decision)]
    if decision.candidates:
        parts.append(f'<div class="jd-scroll">{_table(rows(decision))}</div>')
    simulated = decision.choice is not None and decision.choice.simulated
    return (
        f'<div class="jd-card jd-static jd-explain" data-chosen="{_e(_chosen(decision))}"'
        f'{" data-simulated" if simulated else ""}>'
        f"<style>{style_line('card_static.css')} {style_line('explain.css')}</style>{''.join(parts)}</div>"
    )  # fmt: skip


def _chosen(decision: Decision) -> str:
    choice = decision.choice
    return "" if choice is None else f"{choice.site}:{choice.partition}"


def _list(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{_e(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _table(listed: list[Row]) -> str:
    terms = telling_terms(listed)
    heads = ["", "candidate", "account", "size", *(TERMS[at] for at in terms), "jobs ahead", "data age", "verdict"]
    head = "".join(f'<th scope="col"{_number(title)}>{_e(title)}</th>' for title in heads)
    body = "".join(_row(row, heads, terms) for row in listed)
    return f'<table class="jd-table jd-candidates"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _number(title: str) -> str:
    return ' class="jd-number"' if title in _NUMERIC else ""


def _row(row: Row, heads: list[str], terms: list[int]) -> str:
    mark = row.mark.replace(">", "▸")
    plain = [mark, row.place, row.account]
    cells = [_e(text) for text in plain]
    cells += [_size(row), *(_e(row.terms[at]) for at in terms), _e(row.ahead), _e(row.age), _verdicts(row)]
    filled = "".join(f"<td{_number(title)}>{cell}</td>" for title, cell in zip(heads, cells, strict=True))
    return f'<tr data-candidate="{_e(row.place)}"{" class=jd-chosen" if row.chosen else ""}>{filled}</tr>'


def _size(row: Row) -> str:
    """The size that is taken here; a click shows the others that were weighed."""
    sizes = weighed(row.candidate)
    if not sizes:
        return _e(row.size)
    return f"<details><summary>{_e(row.size)} (of {len(sizes)})</summary>{_list(sizes)}</details>"


def _verdicts(row: Row) -> str:
    """What stands against it, or that nothing does; a click shows every rule's answer."""
    candidate = row.candidate
    against = blockers(candidate)
    short = against[0].sentence if against else "chosen" if row.chosen else "feasible"
    mark = _GLYPH[against[0].answer if against else "pass"]
    if not candidate.verdicts:
        return f"{mark} {_e(short)}"
    lines = "".join(f"<tr>{_verdict(verdict)}</tr>" for verdict in candidate.verdicts)
    heads = "".join(f"<th>{title}</th>" for title in ("", "rule", "observed", "required", ""))
    inner = f'<table class="jd-table"><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>'
    return f"<details><summary>{mark} {_e(short)}</summary>{inner}</details>"


def _verdict(verdict: Verdict) -> str:
    change = verdict.change if verdict.change and verdict.change not in verdict.sentence else ""
    sentence = verdict.sentence + (f" It would pass with {change}." if change else "")
    rule = f"{verdict.rule} (wish)" if is_wish(verdict) else verdict.rule
    cells = (_GLYPH[verdict.answer], rule, verdict.observed, verdict.required, sentence)
    return "".join(f"<td>{_e(cell)}</td>" for cell in cells)


def _e(text: str) -> str:
    return escape(printable(text), quote=True)
