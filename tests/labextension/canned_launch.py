"""What the server says to a launch sheet, made up but for how its fields are read: that is our own grammar."""

from __future__ import annotations

from typing import Any

import canned_pool as canned

from jupyter_diamond.engine.launches import read_line
from jupyter_diamond.errors import Infeasible
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.decision import Decision, Verdict
from jupyter_diamond.model.draft import Draft, Reason
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.launch import LineForm
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Submitted
from jupyter_diamond.placement.idle import idle

MOST_GPUS = 4


class FakeLaunches:
    """Plans, drafts and takes, and keeps what it took."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.says = ""
        """In every text that is answered, where it is set."""
        self.refuses = ""

    def order(self, order: dict[str, Any]) -> None:
        self.says = order.get("says", self.says)
        self.refuses = order.get("refuses", self.refuses)

    def post(self, path: str, form: dict[str, Any], snapshot: Snapshot) -> Value | None:
        """The answer; None where the path is another's. Raises Infeasible."""
        if path == "launch/line":
            return read_line(LineForm.model_validate(form))
        if path == "plan":
            return self.plan(Envelope.model_validate(form["envelope"]))
        if path == "idle":
            return idle(self.plan(Envelope.model_validate(form["envelope"])), snapshot)
        if path == "draft":
            return self.draft(form)
        return self._take(form) if path == "launch" else None

    def plan(self, envelope: Envelope) -> Decision:
        """Room for four GPUs a node, and for what is pinned to it."""
        made = canned.decision().model_copy(update={"envelope": envelope, "made_at": canned.ago(0)})
        place = f"{envelope.site}:{envelope.partition}"
        if envelope.site:
            kept = [each for each in made.candidates if f"{each.site}:{each.partition}" == place]
            made = made.model_copy(
                update={"candidates": tuple(kept), "chosen": 0 if kept else None, "mode": "pinned",
                        "sentence": f"{place} was asked for."}
            )  # fmt: skip
        if envelope.gpus.min > MOST_GPUS:
            against = Verdict(rule="gpus_per_node", answer="fail", observed="4", required=str(envelope.gpus.min),
                              sentence="Its nodes have 4 GPUs.", change=f"--gpus {MOST_GPUS}")  # fmt: skip
            refused = [each.model_copy(update={"feasible": False, "verdicts": (against,)}) for each in made.candidates]
            made = made.model_copy(
                update={"candidates": tuple(refused), "chosen": None, "sentence": "No place can take it."}
            )
        if self.says:
            first = made.candidates[0].model_copy(update={"partition": self.says})
            made = made.model_copy(
                update={"sentence": self.says, "warnings": (self.says,), "candidates": (first, *made.candidates[1:])}
            )
        return made

    def draft(self, form: dict[str, Any]) -> Draft:
        """Two A100s for four hours, whatever the words were."""
        options = {**form["given"], "gpus": "2", "gpu-model": "a100", "time": "4h"}
        reasons = (
            Reason(field="gpus", value="2", sentence="You wrote two A100s.", evidence=self.says or "two A100s"),
            Reason(field="time", value="4h", sentence="The same code ran 3 h before.", source="history"),
        )
        return Draft(envelope=Envelope(), options=options, source="rules", rationale=self.says or "Read in your words.",
                     confidence=0.8, reasons=reasons, unknown=(self.says or "How much memory it needs.",))  # fmt: skip

    def _take(self, form: dict[str, Any]) -> Submitted:
        if self.refuses:
            raise Infeasible(self.refuses)
        self.taken.append(form)
        task = canned.task("t-new", form["name"], State.PENDING, version=99, created=0)
        return Submitted(task=task, created=True)
