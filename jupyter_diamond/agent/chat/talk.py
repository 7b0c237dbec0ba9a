"""A turn with a language model: bounded, its acts proposed and not done, its answers told apart from what is known.

The model waits for nothing. A plan ends its turn as a call that waits for the user's word; a job that was submitted
ends it altogether, and its end begins another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_diamond.agent.guard.foreign import block
from jupyter_diamond.errors import ModelProblem
from jupyter_diamond.model.continuation import Waking
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.proposal import Proposal, Speaker

from .markdown import text
from .prompts import CODE_HERE, DENIED, EVENT, UNDECIDED, payload_of

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

    from .bridge import Conversation
    from .memory import ChatMemory
    from .turns import Turns

AGENT = "diamond"
"""Under which name the persona acts."""
_FEW = 4
"""Requests after a yes: the call is made again, and a sentence is said."""


@dataclass(frozen=True)
class Spoken:
    """What came of a turn: words, plans that wait (with their calls), plans that a standing budget let pass."""

    words: str = ""
    cards: tuple[tuple[str, str], ...] = ()
    done: tuple[str, ...] = ()


class Talk:
    """The persona's model, if there is any."""

    def __init__(self, desk: AgentDesk, turns: Turns) -> None:
        self._desk, self._turns = desk, turns

    async def answer(
        self, chat: Conversation, memory: ChatMemory, person: Speaker, words: str, *, new_code: bool = False
    ) -> None:
        """Answer a user's words."""
        held = memory.state.code
        prompt = words or "(no words, only code)"
        if held is not None and new_code:
            shown = block(held.source, source=f"code, {held.origin}", limit=8000)
            prompt += f"\n\nCode of this chat ({CODE_HERE}), {held.language}, from {held.origin}:\n{shown}"
        elif held is not None:
            prompt += f"\n\n(The code of this chat, {CODE_HERE}, is still that from {held.origin}.)"
        try:
            spoken = await self._turn(memory, self._speaker(person), prompt, purpose="chat")
        except ModelProblem as problem:
            chat.say(f"{text(problem.message, 1500)} `help` lists what works without it.")
            return
        await self._turns.show(
            chat, memory, spoken, fallback="The model said nothing. `help` lists what works without it."
        )

    async def woken(self, memory: ChatMemory, news: Waking, manifest: Manifest | None, seen: str) -> Spoken:
        """What the model adds to how a task ended: one turn, on a short payload. Raises ModelProblem."""
        speaker = self._speaker(Speaker(user=memory.state.owner or "user", channel=memory.channel))
        payload, foreign = payload_of(news, manifest)
        if foreign:
            await self._desk.guard.foreign(memory.channel)
        prompt = f"{EVENT}\n{payload}\n\nThe user sees already:\n{block(seen, source='report', limit=1500)}"
        return await self._turn(memory, speaker, prompt, purpose="wake-up")

    async def resume(self, memory: ChatMemory, proposal: Proposal, call: str) -> Spoken:
        """The user said yes, and it was done: the call that waited is made again, which tells the model so."""
        from .history import load, unanswered

        if call not in {each.tool_call_id for each in unanswered(load(memory.state.history))}:
            return Spoken()
        try:
            came = {call: await self._came_of(proposal)}
            return await self._turn(memory, proposal.by, None, purpose="approved", yes=came, requests=_FEW)
        except ModelProblem as problem:
            self._desk.log.info("After the approval of %s: %s", proposal.id, problem.message)
            return Spoken()

    async def _came_of(self, proposal: Proposal) -> dict[str, Any]:
        """What the call is answered with: it was done by the user's click."""
        await self._desk.guard.perform(proposal.id, proposal.by)  # notes that the agent was told
        told: dict[str, Any] = {"done": True, "submitted": proposal.task is not None, "proposal": proposal.id}
        if proposal.task is not None:
            told |= (await self._desk.tools.call("get_task", {"task": proposal.task}, proposal.by)).content
        return told

    async def note(self, memory: ChatMemory, said: str, answer: str) -> None:
        """Let the model know later what the user did without it."""
        if not self._desk.models.configured or not memory.state.history:
            return
        from .history import dump, load, noted

        history = noted(load(memory.state.history), f"[typed as a command] {said[:300]}", answer[:500])
        await memory.change(history=dump(history))

    async def _turn(
        self, memory: ChatMemory, speaker: Speaker, prompt: str | None, *, purpose: str,
        yes: dict[str, dict[str, Any]] | None = None, requests: int | None = None,
    ) -> Spoken:  # fmt: skip
        from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolDenied

        from .history import dump, groups_asked, last_words, load, unanswered
        from .model_tools import ChatTools, agent

        history = load(memory.state.history)
        pending = unanswered(history)
        approvals: dict[str, Any] = {
            each.tool_call_id: True
            if each.tool_call_id in (yes or {})
            else ToolDenied(self._why_not(memory, each.tool_call_id))
            for each in pending
        }
        tools = ChatTools(self._desk.tools, speaker, groups_asked(history), code=memory.state.code, yes=yes or {})
        try:
            answered = await self._desk.models.run(
                agent(), prompt, purpose=purpose, speaker=speaker, history=history, requests=requests, toolsets=[tools],
                deferred_tool_results=DeferredToolResults(approvals=approvals) if approvals else None,
            )  # fmt: skip
        except ModelProblem as problem:
            kept = list(problem.history) or history
            await memory.change(history="" if unanswered(kept) and prompt is not None else dump(kept))
            raise
        await memory.change(history=dump(answered.history))
        output = answered.output
        if isinstance(output, DeferredToolRequests):
            cards = tuple(
                (str(output.metadata.get(each.tool_call_id, {}).get("proposal", "")), each.tool_call_id)
                for each in output.approvals
            )
            return Spoken(last_words(answered.history), tuple(each for each in cards if each[0]), tuple(tools.done))
        return Spoken(str(output).strip(), done=tuple(tools.done))

    @staticmethod
    def _why_not(memory: ChatMemory, call: str) -> str:
        """What a call that was not approved is told."""
        standing = next((card.standing for card in memory.state.cards.values() if card.call == call), "waiting")
        return {"waiting": UNDECIDED, "denied": DENIED}.get(standing, f"This plan is {standing}; nothing was sent.")

    @staticmethod
    def _speaker(person: Speaker) -> Speaker:
        return person.model_copy(update={"agent": AGENT})
