"""What the persona does without any model: a word, an answer with its ages and units, and what a model would add."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from jupyter_diamond.cell.from_source import request_of
from jupyter_diamond.errors import InvalidRequest, NeedsApproval, PolicyBlocked
from jupyter_diamond.model.chat import Code
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.proposal import Proposal, Speaker
from jupyter_diamond.model.task import NotebookCell, Task

from . import looks_text
from .markdown import code, text
from .words_in import LOOKS, Command, options_in

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

    from .bridge import Conversation
    from .memory import ChatMemory
    from .turns import Turns

HELP = """\
I place jobs on your clusters. Nothing is sent before you say yes, and while a job runs I am quiet.

| type | and I |
| --- | --- |
| `wall` · `idle 2 gpus` | show what is free, and where such a job could start now |
| `draft train on 2 GPUs for 3 h` | say what it would need and why; attach a cell, a notebook or a script, or paste it |
| `plan …` · `submit …` | show where it would go now and what it may cost, with a button to say yes |
| `approve` · `deny` | say yes or no to the plan that waits |
| `status` · `status fit` · `log fit` · `why fit` | tell how it goes, the end of its log, why it went there |
| `cancel fit` · `again fit --memory 64G` | end it, or plan it anew with something changed |
"""
NO_MODEL = (
    "No language model is set up, so I take these words only. With one you could just say what you want, ask about a "
    "failure, and have the next step proposed: `c.DiamondAgent.model`, e.g. `openai:gpt-5-mini` or `local:NAME`."
)
WITH_MODEL = "Anything else you say goes to the model that is set up; it can propose, and only you can approve."
_CODE_WORDS = ("draft", "plan", "submit")

Answer = Callable[["Turn"], Awaitable[str]]


class Turn:
    """One command with everything around it."""

    def __init__(self, chat: Conversation, memory: ChatMemory, person: Speaker, command: Command) -> None:
        self.chat, self.memory, self.person, self.command = chat, memory, person, command

    @property
    def agent(self) -> Speaker:
        """The persona on the user's behalf."""
        return self.person.model_copy(update={"agent": "diamond"})


class Commands:
    """Each answers in Markdown, or shows a card and says nothing more."""

    def __init__(self, desk: AgentDesk, turns: Turns) -> None:
        self._desk, self._turns = desk, turns
        self._answers: dict[str, Answer] = {
            "wall": self._wall, "idle": self._idle, "draft": self._draft, "plan": self._plan, "submit": self._submit,
            "status": self._status, "why": self._why, "log": self._log, "approve": self._approve, "deny": self._deny,
            "cancel": self._cancel, "again": self._again, "replan": self._intervene, "hold": self._intervene,
            "release": self._intervene, "help": self._help, "forget": self._forget,
        }  # fmt: skip

    async def answer(
        self, chat: Conversation, memory: ChatMemory, person: Speaker, command: Command | None, words: str
    ) -> str:
        """What to say to a command, and to words that are none where no model is set up."""
        if command is None:
            command = Command("plan", rest=words) if memory.state.code is not None and words else Command("help")
        if person.guest and command.verb not in LOOKS:
            raise PolicyBlocked(f"{person.user} is a guest of this server: guests look, and its owner does the rest.")
        return await self._answers[command.verb](Turn(chat, memory, person, command))

    async def _help(self, _turn: Turn) -> str:
        return f"{HELP}\n{WITH_MODEL if self._desk.models.configured else NO_MODEL}"

    async def _forget(self, turn: Turn) -> str:
        """The model's context is empty, so no text from outside is in it any more."""
        await turn.memory.change(history="", code=None)
        await self._desk.guard.clean(turn.memory.channel)
        return "Forgotten: a model is shown nothing of what was said here before. Tasks and plans stay."

    # ---- looks

    async def _wall(self, _turn: Turn) -> str:
        return looks_text.wall_text(await self._desk.service.sites(), self._now())

    async def _idle(self, turn: Turn) -> str:
        draft = await self._drafted(turn, without_code=True)
        found = await self._desk.service.idle(draft.envelope)
        asked = " ".join(f"--{name} {value}" for name, value in draft.options.items())
        return f"For {code(asked or 'one core')}:\n\n{looks_text.idle_places(found, self._now())}"

    async def _draft(self, turn: Turn) -> str:
        draft = await self._drafted(turn)
        more = "" if self._desk.models.configured else "A model would also read what your words mean."
        next_ = (
            "Next: `plan` shows where it would go." if turn.memory.state.code else "Attach the code to have it planned."
        )
        return f"{looks_text.draft_text(draft, asked_model=more)}\n\n{next_}"

    async def _drafted(self, turn: Turn, *, without_code: bool = False) -> Draft:
        given, words = options_in(turn.command.rest)
        held = None if without_code else turn.memory.state.code
        request = DraftRequest(
            words=words[:20_000], code=held.source if held else "", language=_language(held), given=given,
        )  # fmt: skip
        return await self._desk.drafter.draft(request, turn.agent)

    async def _status(self, turn: Turn) -> str:
        here = turn.memory.state.tasks
        if not turn.command.ref:
            found = await self._desk.service.tasks(None, "active", None, 50)
            ended = [each for each in await self._desk.service.tasks(None, "ended", None, 50) if each.id in here]
            return looks_text.tasks_text([*found, *ended[:5]], self._now(), here=here)
        one = await self._turns.task_or_group(turn.command.ref)
        said = f"**{text(one.name)}** {code(one.id)}\n\n{self._turns.line(one)}"
        why = " ".join(filter(None, (text(one.cause), text(one.next))))
        return f"{said}\n\n{why}".strip()

    async def _why(self, turn: Turn) -> str:
        ref = self._ref(turn)
        decision = await self._desk.service.decision(ref)
        task = await self._desk.service.task(ref)
        return looks_text.decision_text(decision, f"**{text(task.name)}**:", self._now())

    async def _log(self, turn: Turn) -> str:
        task = await self._desk.service.task(self._ref(turn))
        if task.attempt is None or task.attempt.folder is None:
            return f"Nothing of {code(task.name)} has been sent yet, so there is no log."
        piece = await self._desk.service.logs(task.id, tail=6000)
        if not piece.exists or not piece.text.strip():
            return f"The log of {code(task.name)} is empty so far."
        return looks_text.log_text(task.name, piece.text, piece.size)

    def _ref(self, turn: Turn) -> str:
        """Whom a command is about; without a name, this chat's newest task. Raises InvalidRequest."""
        ref = turn.command.ref or next(reversed(turn.memory.state.tasks), "")
        if not ref:
            raise InvalidRequest(f"{turn.command.verb} needs a task: its name or id; `status` lists them.")
        return ref

    # ---- plans

    async def _plan(self, turn: Turn) -> str:
        held = turn.memory.state.code
        draft = await self._drafted(turn)
        if held is None:
            decision = await self._desk.service.plan(draft.envelope)
            said = looks_text.decision_text(decision, "Such a job:", self._now())
            return f"{said}\n\nAttach a cell, a notebook or a script, or paste the code, and I plan the real one."
        notes = [*draft.unknown, *draft.problems]
        name = held.name or _name_from(turn.command.rest) or "job"
        request, bundle = request_of(
            name, held.source, _language(held), draft.envelope, notebook=held.notebook, by="diamond",
        )  # fmt: skip
        if held.notebook is not None:
            request = request.model_copy(update={"notebook": NotebookCell(path=held.notebook, cell_id=held.cell)})
        proposal = await self._desk.guard.propose(
            "submit", turn.agent, request=request, bundle=bundle, intent=turn.command.rest[:2000], notes=notes
        )  # fmt: skip
        await self._turns.propose(turn.chat, turn.memory, proposal)
        return ""

    async def plan_again(
        self, chat: Conversation, memory: ChatMemory, person: Speaker, before: Proposal, words: str
    ) -> str:
        """The same job with something changed, in the user's words."""
        return await self._plan(
            Turn(chat, memory, person, Command("plan", rest=f"{words}. {before.intent}".strip(". ")))
        )

    async def _submit(self, turn: Turn) -> str:
        """The user's own word: yes to the plan that waits, or a plan to say yes to."""
        waiting = turn.memory.waiting_cards()
        if waiting and not turn.command.rest:
            return await self._approve(turn)
        if turn.memory.state.code is None:
            raise InvalidRequest(
                "There is nothing to submit yet: attach a cell, a notebook or a script, or paste the code. Then I show "
                "a plan."
            )
        return await self._plan(turn)

    def _plan_meant(self, turn: Turn) -> str:
        waiting = turn.memory.waiting_cards()
        if turn.command.ref:
            return turn.command.ref
        if len(waiting) == 1 or (waiting and turn.command.verb == "submit"):
            return waiting[0]
        if not waiting:
            raise InvalidRequest("No plan waits for your yes here. `plan …` makes one.")
        listed = ", ".join(waiting[:5])
        raise InvalidRequest(f"Several plans wait: say which, e.g. approve {waiting[0]}. They are {listed}.")

    async def _approve(self, turn: Turn) -> str:
        """As the card's button does: approved and done at once. The card and one sentence tell what came of it."""
        proposal_id = self._plan_meant(turn)
        guard = self._desk.guard
        proposal = await guard.proposal(proposal_id)
        await guard.approve(proposal_id, proposal.hash, turn.person)
        try:
            await guard.perform(proposal_id, turn.person)
        except NeedsApproval as lacking:
            return text(lacking.message)
        finally:
            await self._turns.settle(turn.chat, turn.memory, proposal_id)
        return "" if proposal_id in turn.memory.state.cards else f"Done: {text(proposal.title)}."

    async def _deny(self, turn: Turn) -> str:
        proposal_id = self._plan_meant(turn)
        await self._desk.guard.deny(proposal_id, turn.person, turn.command.rest)
        await self._turns.settle(turn.chat, turn.memory, proposal_id)
        return "" if turn.command.rest else "Dropped. Nothing was sent."

    async def _again(self, turn: Turn) -> str:
        task = await self._desk.service.task(turn.command.ref)
        given, _ = options_in(turn.command.rest)
        envelope = task.envelope
        if given:
            from jupyter_diamond.agent.tools.needs import as_options, envelope_from

            said = {name.replace("-", "_"): value for name, value in given.items()}
            envelope = envelope_from({**as_options(task.envelope), **said})
        request, bundle = request_of(
            task.name, task.source, task.language, envelope, outputs=task.outputs, notebook=task.notebook.path,
            again=True, by="diamond",
        )  # fmt: skip
        intent = f"{task.name} again" + (f", with {turn.command.rest}" if given else "")
        proposal = await self._desk.guard.propose("submit", turn.agent, request=request, bundle=bundle, intent=intent)
        await self._turns.propose(turn.chat, turn.memory, proposal)
        return ""

    # ---- the user's own hands

    async def _cancel(self, turn: Turn) -> str:
        found = await self._turns.task_or_group(self._ref(turn))
        if found.id in turn.memory.state.tasks:
            await turn.memory.task(found.id, cancelled_here=True)
        target = self._target(found)
        await target.cancel(found.id, turn.person.user)
        return f"{code(found.name)} is being ended; what it had written until now stays where it is."

    async def _intervene(self, turn: Turn) -> str:
        found = await self._turns.task_or_group(self._ref(turn))
        verb = turn.command.verb
        now = await getattr(self._target(found), verb)(found.id, turn.person.user)
        done = {"replan": "was planned anew", "hold": "is held: nothing of it is submitted", "release": "goes on"}[verb]
        return f"{code(found.name)} {done}.\n\n{self._turns.line(now)}"

    def _target(self, found: Task | Group) -> Any:
        return self._desk.service.groups if isinstance(found, Group) else self._desk.service

    def _now(self) -> Any:
        return self._desk.chats.now()


def _language(held: Code | None) -> Any:
    return held.language if held is not None else "python"


def _name_from(words: str) -> str:
    """``called fit`` or ``named fit`` in the words."""
    found = re.search(r"\b(?:called|named|as)\s+([A-Za-z_]\w{0,40})\b", words)
    return found[1] if found else ""
