"""The stored decision in a notebook: a text, escaped HTML with every verdict, and a DataFrame of numbers."""

from __future__ import annotations

import copy
import pickle
import re
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from jupyter_diamond.model.decision import Candidate, Decision, Verdict
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.notebook.explanation import Explanation
from jupyter_diamond.notebook.tables import frame_of
from jupyter_diamond.placement.explain import explain

EVIL = "<script>alert(1)</script>\x1b[31m"
SIZE = Size(gpus=2, cpus=8, walltime_s=14_400)
HALF = Size(gpus=1, cpus=8, walltime_s=14_400)


def verdict(rule: str, answer: str = "pass", **more) -> Verdict:
    facts = {"observed": "12", "required": "4", "sentence": f"The {rule} says {answer}."}
    return Verdict(rule=rule, answer=answer, **{**facts, **more})


def estimate(
    wait: float, run: float, *, band: tuple[float, float] | None = None, charge: float | None = None
) -> Estimate:
    low, high = band or (None, None)
    forecast = Forecast(
        wait_s=wait, low_s=low, high_s=high, method="replay" if wait else "fits_now", because="behind job 812"
    )
    return Estimate(
        forecast=forecast, run_s=run, run_assumed=True, total_s=wait + run, charge=charge, charge_at_most=charge and 2 * charge,
        charge_unit="SU",
    )  # fmt: skip


def decision(sentence: str = "delta:gpu starts now.", **more) -> Decision:
    candidates = (
        Candidate(
            site="anvil", partition="gpu", feasible=False, queue_ahead=3, record_age_s=40.0,
            verdicts=(verdict("health"), verdict("capacity", "fail", sentence="It has 1 GPU.", change="--gpus 1")),
        ),
        Candidate(
            site="vista", partition="gh", feasible=True, size=SIZE, starts_now=True, rank=2, estimate=estimate(0, 9000),
            verdicts=(verdict("health"), verdict("capacity"), verdict("fabric", "fail", soft=True)),
        ),
        Candidate(
            site="delta", partition="gpu", account="abc", feasible=True, size=SIZE, rank=1, record_age_s=12.0,
            estimate=estimate(600, 3600, band=(300, 1500), charge=4.0), sizes=((HALF, estimate(0, 7200, charge=2.0)),),
            verdicts=(verdict("health"), verdict("capacity")),
        ),
    )  # fmt: skip
    return Decision(
        made_at=datetime(2026, 11, 30, 14, 0, tzinfo=timezone.utc), snapshot_id=7, mode="rules", envelope=Envelope(),
        candidates=candidates, chosen=2, alternatives=(1,), sentence=sentence, **more,
    )  # fmt: skip


def test_an_explanation_is_its_text_and_survives_a_copy():
    made = Explanation(decision())
    assert made == explain(decision())
    assert repr(made) == str(made)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (other, other.decision) == (made, made.decision)


class _Cells(HTMLParser):
    """The rows of the outer table: their candidates, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.candidates: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.candidates += [value for name, value in attributes if name == "data-candidate"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_has_every_candidate_with_every_verdict_estimate_and_size():
    made = Explanation(decision())._repr_html_()
    read = _Cells()
    read.feed(made)
    assert read.open == []
    assert read.candidates == ["delta:gpu", "vista:gh", "anvil:gpu"]
    for said in ("in about 10 min (5-25)", "1 h assumed", "about 4 SU, at most 8", "1 h 10 min", "(of 2)"):
        assert f">{said}<" in made or f"{said}</summary>" in made, said
    assert made.count("<td>health</td>") == 3
    assert "It has 1 GPU. It would pass with --gpus 1." in made
    assert "fabric (wish)" in made
    assert "anvil:gpu: it has 1 GPU (it would pass with --gpus 1)." in made


def test_html_is_readable_in_both_themes():
    style = re.search(r"<style>(.*?)</style>", Explanation(decision())._repr_html_())[1]
    colours = re.findall(r"(?<![\w-])(?:color|background)\s*:\s*([^;}]+)", style)
    assert colours
    assert all(each.startswith(("var(", "none", "inherit")) for each in colours)


def test_foreign_text_never_becomes_markup():
    evil = Candidate(
        site="delta", partition=EVIL, account=EVIL, feasible=False,
        verdicts=(verdict(EVIL, "fail", observed=EVIL, required=EVIL, sentence=EVIL, change=EVIL),),
    )  # fmt: skip
    made = Explanation(
        decision(EVIL, warnings=(EVIL,), tie_break=EVIL).model_copy(update={"candidates": (evil,), "chosen": 0, "alternatives": ()})
    )._repr_html_()  # fmt: skip
    assert "<script" not in made
    assert "\x1b" not in made
    assert made.count("&lt;script&gt;") > 8


def test_a_dataframe_has_numbers_to_work_with_and_gaps_where_nothing_is_known():
    frame = Explanation(decision()).table()
    assert list(frame.index) == ["delta:gpu", "vista:gh", "anvil:gpu"]
    assert frame.loc["delta:gpu", ["wait s", "wait low s", "wait high s", "in all s", "charge"]].tolist() == [
        600, 300, 1500, 4200, 4,
    ]  # fmt: skip
    assert frame["charge"].isna().tolist() == [False, True, True]
    assert frame["capacity"].tolist() == ["ok", "ok", "NO"]
    assert frame["in all s"].idxmin() == "delta:gpu"
    assert frame.attrs["sentence"] == "delta:gpu starts now."


def test_a_decision_without_candidates_has_an_empty_table():
    none = decision("No site is configured.").model_copy(update={"candidates": (), "chosen": None, "alternatives": ()})
    assert Explanation(none).table().empty
    assert "No site is configured." in Explanation(none)._repr_html_()


@pytest.mark.parametrize("rows", [[], [{"a": 1, "b": 2}]])
def test_a_table_keeps_its_columns(rows):
    assert "b" in frame_of(rows, ["a", "b"]).columns
