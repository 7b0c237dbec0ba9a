"""Drafts for whoever asks: our own rules always, the user's model on top where there is one, and the plan of the pool.

A model never has the last word: its fields pass the same parsers, the same schema and the same rules as the user's.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from jupyter_diamond.agent.models.access import Models
from jupyter_diamond.errors import DiamondError, ModelProblem, NotFound
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.draft import Draft, DraftRequest, PastRun
from jupyter_diamond.model.proposal import Speaker

from . import rules
from .model_draft import INSTRUCTIONS, ModelDraft, lay_over, prompt
from .pool import Pool, pool_of

if TYPE_CHECKING:
    from jupyter_diamond.service import DiamondService

_REQUESTS = 3
"""The answer, and two more where its form is wrong."""
OURS = "The draft of our own rules is shown instead."


class Drafter:
    """One of a server."""

    def __init__(self, service: DiamondService, models: Models) -> None:
        self._service, self._models = service, models
        self._agent: Any = None

    async def draft(self, request: DraftRequest, speaker: Speaker) -> Draft:
        """The draft, planned. Raises InvalidRequest where what was given makes no sense.

        Whatever is wrong with a model's answer is told in ``problems``, and the draft of the rules is what is shown.
        """
        began = time.monotonic()
        pool = pool_of(await self._service.sites())
        now = datetime.now(timezone.utc)
        past = await self._past(request)
        drafted = await asyncio.to_thread(rules.draft, request, pool=pool, now=now, past=past)
        found = await self._planned(drafted)
        if request.model and self._models.configured and not speaker.guest:
            found = await self._with_model(found, request, speaker, pool, now)
        return found.model_copy(update={"seconds": time.monotonic() - began})

    async def _past(self, request: DraftRequest) -> tuple[PastRun, ...]:
        ledger = self._service.ledger
        return await ledger.do(ledger.store.past_runs, request.digest, request.cell or request.code)

    async def _with_model(
        self, drafted: Draft, request: DraftRequest, speaker: Speaker, pool: Pool, now: datetime
    ) -> Draft:  # fmt: skip
        """The model's answer over the draft; the draft itself, with the problem named, where none can be used."""
        name = self._models.name
        try:
            said = await self._asked(drafted, request, speaker, pool)
            laid = lay_over(said, drafted, request, pool, now, model=name)
        except DiamondError as problem:
            return _ours(drafted, problem.message, name)
        found = await self._planned(laid.draft)
        if drafted.feasible and not found.feasible:
            return _ours(drafted, f"No site has a place for the model's draft: {found.where}", name, raw=found.raw)
        return found

    async def _asked(self, drafted: Draft, request: DraftRequest, speaker: Speaker, pool: Pool) -> ModelDraft:
        settings = self._models.settings
        await self._models.model()  # loads the libraries, in a thread
        if self._agent is None:
            from pydantic_ai import Agent

            self._agent = Agent(output_type=ModelDraft, instructions=INSTRUCTIONS, name="draft")
        answered = await self._models.run(
            self._agent, prompt(request, drafted, pool, most=settings.draft_code_bytes), purpose="draft",
            speaker=speaker, seconds=settings.draft_s, requests=_REQUESTS,
        )  # fmt: skip
        said = answered.output
        if not isinstance(said, ModelDraft):
            raise ModelProblem(f"{self._models.name} gave no draft.", kind="bad_answer")
        return said

    async def _planned(self, draft: Draft) -> Draft:
        """The same, with where it would go, or each site's reason against it."""
        try:
            decision = await self._service.plan(draft.envelope)
        except NotFound as problem:  # a site or a partition that is not there
            return draft.model_copy(update={"feasible": False, "where": problem.message})
        feasible = decision.choice is not None
        refusals = () if feasible else refusals_of(decision)
        return draft.model_copy(update={"feasible": feasible, "where": decision.sentence, "refusals": refusals})


def refusals_of(decision: Decision) -> tuple[str, ...]:
    """For each place that refuses it, its first reason that something could change."""
    found = []
    for each in decision.candidates:
        failed = [verdict for verdict in each.verdicts if verdict.answer == "fail" and not verdict.soft]
        why = next((verdict for verdict in failed if not verdict.moot), failed[0] if failed else None)
        if why is not None:
            place = f"{each.site}:{each.partition}" if each.partition else each.site
            found.append(f"{place}: {why.sentence}")
    return tuple(dict.fromkeys(found))


def _ours(drafted: Draft, problem: str, model: str, raw: dict[str, Any] | None = None) -> Draft:
    """The draft of the rules, with what was wrong with the model's."""
    told = (*drafted.problems, f"{problem} {OURS}")
    return drafted.model_copy(update={"problems": told, "model": model, "raw": raw})
