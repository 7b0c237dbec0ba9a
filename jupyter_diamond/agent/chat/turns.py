"""One turn in a chat: a user's message, a task's end, a word on a plan. A model speaks where one is set up.

Without a model, and wherever one fails, the same is said from what is known. Nothing here depends on what a model says
of itself: what is done goes through the guard, and whoever is told is told by what the store says.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from jupyter_diamond.agent.guard import speakers
from jupyter_diamond.errors import DiamondError, NotFound, ResultUnavailable
from jupyter_diamond.model.continuation import AttemptFailed, Condition, Registration, Terminal, Trouble, Waking
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.proposal import Proposal, Speaker
from jupyter_diamond.model.states import Outcome
from jupyter_diamond.model.task import Task
from jupyter_diamond.notebook.group_words import state_of

from . import cards, words_in
from .attached import code_of, without_code
from .commands import Commands
from .group_text import group_line
from .looks_text import problems_text, task_line
from .markdown import code, safe_markdown, text
from .report_text import report
from .talk import Spoken, Talk

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

    from .bridge import Conversation
    from .chats import Chats
    from .memory import ChatMemory

_OPEN = ("waiting", "approved")


class Turns:
    """What is said in chats."""

    def __init__(self, desk: AgentDesk, chats: Chats) -> None:
        self._desk, self._chats = desk, chats
        self._commands = Commands(desk, self)
        self._talk = Talk(desk, self)

    # ---- a user's message

    async def answer(self, chat: Conversation, memory: ChatMemory, message: Any) -> None:
        """Answer one message; whatever goes wrong, the chat is told in a sentence."""
        person = speakers.speaker(message.sender, channel=memory.channel)
        found, problems = await asyncio.to_thread(code_of, chat, message, self._chats.bridge.root)
        if not person.guest:
            changes = {"code": found} if found is not None else {}
            await memory.change(owner=person.user, **changes)
        words = without_code(message.body)
        if problems:
            chat.say(problems_text(problems))
        try:
            await self._answered(chat, memory, person, words, new_code=found is not None)
        except DiamondError as problem:
            chat.say(f"{text(problem.message, 2000)}")

    async def _answered(
        self, chat: Conversation, memory: ChatMemory, person: Speaker, words: str, *, new_code: bool
    ) -> None:
        command = words_in.read(words)
        if command is None and self._desk.models.configured and not person.guest:
            with chat.thinking("is thinking…"):
                await self._talk.answer(chat, memory, person, words, new_code=new_code)
            return
        with chat.thinking("is looking…"):
            said = await self._commands.answer(chat, memory, person, command, words)
        if said:
            chat.say(said)
        if command is not None and command.verb != "forget":
            await self._talk.note(memory, words, "(The user saw the answer; it is not shown here.)")

    # ---- plans

    async def propose(self, chat: Conversation, memory: ChatMemory, proposal: Proposal, *, call: str = "") -> None:
        """Show a plan as a card, once; the one that stands already is pointed at."""
        now = self._chats.now()
        mark = f"proposal:{proposal.id}"
        known = chat.marked(mark)
        if known is not None and not known.deleted:
            await memory.card(proposal.id, message=known.id, call=call)
            if proposal.standing == "waiting":
                chat.say(f"That plan stands above and waits for your yes: {code(f'approve {proposal.id}')}.")
            return
        await memory.card(proposal.id, call=call)  # from here on a word on it, said elsewhere, is heard
        message = chat.say(cards.in_words(proposal, now), card=cards.card(proposal, now), mark=mark)
        await memory.card(proposal.id, message=message, standing=proposal.standing)

    async def settle(self, chat: Conversation, memory: ChatMemory, proposal_id: str) -> None:
        """Show how a plan stands now, and go on where the user has said a word on it."""
        card = memory.state.cards.get(proposal_id)
        if card is None:
            return
        proposal = await self._desk.guard.proposal(proposal_id)
        now = self._chats.now()
        if card.standing == proposal.standing:
            return
        chat.edit(card.message, cards.in_words(proposal, now), card=cards.card(proposal, now))
        if proposal.standing == "approved" and proposal.began_at is not None:
            return  # it is being done: the next event tells of its end
        await memory.card(proposal_id, standing=proposal.standing)
        if proposal.standing == "done" and proposal.task is not None:
            await self._done(chat, memory, proposal, call=card.call)
        elif proposal.standing == "denied" and proposal.reason:
            await self._changed(chat, memory, proposal)
        elif proposal.standing == "void":
            chat.say(
                f"{text(proposal.reason, 1000)} Nothing was sent: ask me to plan it again.", mark=f"void:{proposal_id}"
            )

    async def _done(self, chat: Conversation, memory: ChatMemory, proposal: Proposal, *, call: str) -> None:
        """Say so in one sentence, once, and be quiet."""
        mark = f"done:{proposal.id}"
        if chat.marked(mark) is not None or proposal.task is None:
            return
        spoken = Spoken()
        if call:
            with chat.thinking("is noting it…"):
                spoken = await self._talk.resume(memory, proposal, call)
            await memory.card(proposal.id, call="")
        await self.adopt(chat, memory, proposal, spoken.words, mark)
        if not call:
            await self._talk.note(memory, f"(the user approved {proposal.id})", self._short(proposal))
        await self.show(chat, memory, Spoken(cards=spoken.cards))

    @staticmethod
    def _short(proposal: Proposal) -> str:
        return f"It was done: {proposal.title}; task {proposal.task}."

    async def show(self, chat: Conversation, memory: ChatMemory, spoken: Spoken, *, fallback: str = "") -> None:
        """Words, then plans as cards, then what a standing budget of the user's let pass."""
        words = safe_markdown(spoken.words) or ("" if spoken.cards or spoken.done else fallback)
        if words:
            chat.say(words)
        for proposal_id, call in spoken.cards:
            await self.propose(chat, memory, await self._desk.guard.proposal(proposal_id), call=call)
        for proposal_id in spoken.done:
            proposal = await self._desk.guard.proposal(proposal_id)
            mark = f"done:{proposal_id}"
            if proposal.task is not None and chat.marked(mark) is None:
                await self.adopt(chat, memory, proposal, "", mark)

    async def adopt(self, chat: Conversation, memory: ChatMemory, proposal: Proposal, said: str, mark: str) -> None:
        """Have this chat woken by what came of a plan, and show its line."""
        assert proposal.task is not None, "only for what came of something"
        found = await self.task_or_group(proposal.task)
        submitted = proposal.terms.act in ("submit", "submit_group", "smoke")
        if proposal.terms.act == "cancel" and found.id in memory.state.tasks:
            await memory.task(found.id, cancelled_here=True)
        if submitted:
            await memory.task(found.id, name=found.name)  # from here on its changes are heard
            await self.register(memory, found)
            found = await self.task_or_group(found.id)
        said = said or self._sentence(proposal, found)
        message = chat.say(f"{said}\n\n{self.line(found)}", mark=mark)
        if submitted:
            await memory.task(found.id, name=found.name, message=message, said=said)

    @staticmethod
    def _sentence(proposal: Proposal, found: Task | Group) -> str:
        if proposal.terms.act in ("submit", "submit_group", "smoke"):
            return (
                f"Submitted {code(found.name)} as {code(found.id)}. I am quiet until it ends and report here then; "
                f"{code(f'status {found.name}')} at any time."
            )
        return f"Done: {text(proposal.title)}."

    async def register(self, memory: ChatMemory, found: Task | Group) -> None:
        """Wake this chat when it ends, and when its site cannot be asked. Twice the same is once."""
        conditions: tuple[Condition, ...] = (Terminal(), Trouble())
        if isinstance(found, Group):
            conditions = (Terminal(), AttemptFailed())
        kind = "group" if isinstance(found, Group) else "task"
        for each in conditions:
            wish = f"{memory.chat_id[:16].lower()}-{found.id}-{each.kind}"
            subject = f"{kind}:{found.id}"
            asked = Registration(id=wish, subject=subject, condition=each, consumer=memory.channel)
            await self._desk.service.consumers.register(asked)

    async def _changed(self, chat: Conversation, memory: ChatMemory, proposal: Proposal) -> None:
        """Denied with words: what the user wants instead."""
        mark = f"denied:{proposal.id}"
        if chat.marked(mark) is not None or proposal.decided_by is None:
            return
        person = speakers.speaker(proposal.decided_by, channel=memory.channel)
        chat.say(f"Not as planned: “{text(proposal.reason, 500)}”.", mark=mark)
        if self._desk.models.configured:
            with chat.thinking("is thinking…"):
                await self._talk.answer(chat, memory, person, proposal.reason)
        elif memory.state.code is not None:
            said = await self._commands.plan_again(chat, memory, person, proposal, proposal.reason)
            if said:
                chat.say(said)

    async def look_at_cards(self, chat: Conversation, memory: ChatMemory) -> None:
        """After a start: plans on which a word was said meanwhile."""
        for proposal_id, card in list(memory.state.cards.items()):
            if card.standing in _OPEN:
                try:
                    await self.settle(chat, memory, proposal_id)
                except NotFound:
                    await memory.card(proposal_id, standing="expired")

    # ---- news

    async def woken(self, chat: Conversation, memory: ChatMemory, news: Waking) -> None:
        """Report, once. It returns when the message is saved."""
        mark = f"news:{news.id}"
        await self.progress(chat, memory)
        if chat.marked(mark) is None and not self._is_quiet(memory, news):
            spoken = await self._told(chat, memory, news)
            chat.say(spoken.words, mark=mark)
            await self.show(chat, memory, Spoken(cards=spoken.cards, done=spoken.done))
        if chat.marked(mark) is not None and not await chat.saved(mark):
            raise TimeoutError(f"The message about {news.name} was not saved.")

    @staticmethod
    def _is_quiet(memory: ChatMemory, news: Waking) -> bool:
        """What nobody here needs to hear: what he did himself, and what is waited for no more."""
        known = memory.state.tasks.get(news.subject.partition(":")[2])
        cancelled = news.outcome is Outcome.CANCELLED and known is not None and known.cancelled_here
        return cancelled or news.over != "fired"

    async def _told(self, chat: Conversation, memory: ChatMemory, news: Waking) -> Spoken:
        """How it ended, from what is known; then what a model makes of it, where there is one."""
        found = await self.task_or_group(news.subject.partition(":")[2])
        manifest = await self._manifest(news)
        now = self._chats.now()
        if not self._desk.models.configured:
            return Spoken(report(news, found, manifest, now))
        known = report(news, found, manifest, now, actions=False)
        try:
            with chat.thinking("is reading how it ended…"):
                spoken = await self._talk.woken(memory, news, manifest, known)
        except DiamondError as problem:
            return Spoken(
                f"{report(news, found, manifest, now)}\n\n{text(problem.message, 1000)} So this is without it."
            )
        if not spoken.words and not spoken.cards:
            return Spoken(report(news, found, manifest, now))
        return Spoken("\n\n".join(filter(None, [known, safe_markdown(spoken.words)])), spoken.cards, spoken.done)

    async def _manifest(self, news: Waking) -> Manifest | None:
        if news.manifest is None or news.group is not None:
            return None
        try:
            return (await self._desk.service.result(news.manifest.task)).manifest
        except (ResultUnavailable, NotFound):
            return None
        except DiamondError as problem:
            self._desk.log.info("The receipt of %s cannot be read now: %s", news.name, problem.message)
            return None

    # ---- lines

    async def progress(self, chat: Conversation, memory: ChatMemory) -> None:
        """Edit the lines of tasks whose state is another one."""
        for task_id, known in list(memory.state.tasks.items()):
            if known.state is not None and known.state.terminal:
                continue
            try:
                found = await self.task_or_group(task_id)
            except NotFound:
                continue
            chat.edit(known.message, f"{known.said}\n\n{self.line(found)}")
            state = found.state if isinstance(found, Task) else state_of(found)
            if state is not known.state:
                await memory.task(task_id, state=state)

    def line(self, found: Task | Group) -> str:
        """How it is now."""
        now = self._chats.now()
        return task_line(found, now) if isinstance(found, Task) else group_line(found, now)

    async def task_or_group(self, ref: str) -> Task | Group:
        """Raises NotFound."""
        try:
            return await self._desk.service.task(ref)
        except NotFound as no_task:
            try:
                return await self._desk.service.groups.group(ref)
            except NotFound:
                raise no_task from None
