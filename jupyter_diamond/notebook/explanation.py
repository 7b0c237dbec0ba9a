"""What ``explain`` gives in a notebook: text, HTML and a DataFrame of one stored decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.placement import words
from jupyter_diamond.placement.comparison import blockers, name
from jupyter_diamond.placement.estimate_words import starts_of
from jupyter_diamond.placement.explain import explain
from jupyter_diamond.placement.explain_rows import answer_of, rows

from .explanation_html import html
from .tables import frame_of
from .text import Text

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = {
    "rank": "Int64", "ahead": "Int64", "wait s": "Float64", "wait low s": "Float64", "wait high s": "Float64",
    "run s": "Float64", "ready s": "Float64", "data s": "Float64", "in all s": "Float64", "charge": "Float64",
    "charge at most": "Float64", "age s": "Float64",
}  # fmt: skip


class Explanation(Text):
    """The text itself, shown as a table where a notebook can; ``table()`` is a DataFrame, ``decision`` all of it."""

    __slots__ = ("decision",)

    decision: Decision

    def __new__(cls, decision: Decision) -> Explanation:  # noqa: PYI034 - Self is newer than Python 3.10
        """A text cannot be changed once it is made, so it is made here."""
        made = super().__new__(cls, explain(decision))
        made.decision = decision
        return made

    def __reduce__(self) -> tuple[type[Explanation], tuple[Decision]]:
        return type(self), (self.decision,)

    def _repr_html_(self) -> str:
        return html(self.decision)

    def table(self) -> pd.DataFrame:
        """One row a candidate, the chosen one first: estimate, charge, and each rule's answer."""
        return decision_table(self.decision)


def decision_table(decision: Decision) -> pd.DataFrame:
    """Numbers in seconds and in the site's own unit; what is not known stays empty. ``attrs`` holds the sentence."""
    rules = list(dict.fromkeys(verdict.rule for each in decision.candidates for verdict in each.verdicts))
    found = [
        _facts(row.candidate, chosen=row.chosen) | {rule: answer_of(row.candidate, rule) for rule in rules}
        for row in rows(decision)
    ]
    frame: pd.DataFrame = frame_of(found, [*_facts(_NOBODY, chosen=False), *rules]).astype(_NUMBERS)
    frame.attrs["sentence"] = decision.sentence
    return frame


_NOBODY = Candidate(site="", partition="", feasible=False)


def _facts(candidate: Candidate, *, chosen: bool) -> dict[str, Any]:
    against = blockers(candidate)
    return {
        "candidate": name(candidate),
        "chosen": chosen,
        "rank": candidate.rank,
        "account": candidate.account or "",
        "size": "" if candidate.size is None else words.size(candidate.size),
        "starts": starts_of(candidate),
        **_estimate(candidate),
        "ahead": candidate.queue_ahead,
        "age s": candidate.record_age_s,
        "against": against[0].sentence if against else "",
    }


def _estimate(candidate: Candidate) -> dict[str, Any]:
    estimate = candidate.estimate
    forecast = estimate.forecast if estimate is not None else None
    return {
        "wait s": forecast and forecast.wait_s,
        "wait low s": forecast and forecast.low_s,
        "wait high s": forecast and forecast.high_s,
        "by": forecast.method.replace("_", " ") if forecast is not None else "",
        "because": forecast.because if forecast is not None else "",
        "run s": estimate and estimate.run_s,
        "run assumed": estimate is not None and estimate.run_assumed,
        "ready s": estimate and estimate.prepare_s,
        "data s": estimate and estimate.transfer_s,
        "in all s": estimate and estimate.in_all_s,
        "charge": estimate and estimate.charge,
        "charge at most": estimate and estimate.charge_at_most,
        "unit": estimate.charge_unit if estimate is not None else "",
    }
