"""What it costs to ask every five minutes: the same scripted four-hour job, by an agent that sleeps and one that polls.

Time is virtual: the job's answers are those of a real task, asked as often as the clock says. The prompt of each call
holds all that was said before, as chat models are asked.
"""

from __future__ import annotations

from pathlib import Path

from jupyter_diamond.agent.desk import AgentDesk

from .agents import Conversation, Turn
from .scenarios import World, asks, reports, submits

JOB_S, EVERY_S = 4 * 3600, 5 * 60


async def compared(desk: AgentDesk, sites: tuple[str, ...]) -> str:
    """Both workflows, and their ratio."""
    sleeping, task = await _sleeping(desk, sites)
    polling = await _polling(desk, sites, task)
    first, second = sleeping.used, polling.used
    ratio = second.prompt_tokens / max(1, first.prompt_tokens)
    return (
        f"\na job of {JOB_S // 3600} h: sleeping {first.prompt_tokens:,} prompt tokens in {len(first.asked_at)} model calls; "
        f"polling each {EVERY_S // 60} min {second.prompt_tokens:,} in {len(second.asked_at)}: {ratio:.1f} times as many"
    )


async def _sleeping(desk: AgentDesk, sites: tuple[str, ...]) -> tuple[Conversation, str]:
    chat = Conversation(desk, 9001)
    world = World(desk, sites, chat, Path())
    script = submits(asks(name="long", source="print('epoch 1')\nanswer = 1", outputs="answer"))
    await chat.say("Run it.", script)
    await world.approve()
    await chat.say("I approved it.", script)
    await world.news()
    (task,) = await world.mine()
    await chat.say(f"[news] it has ended: {task.id}", reports())
    return chat, task.id


async def _polling(desk: AgentDesk, sites: tuple[str, ...], task: str) -> Conversation:
    chat = Conversation(desk, 9002)
    world = World(desk, sites, chat, Path())
    script = submits(asks(name="long_polled", source="print('epoch 1')\nanswer = 1", outputs="answer"))
    await chat.say("Run it.", script)
    await world.approve()
    await chat.say("I approved it.", script)

    def looks(_said: str) -> Turn:
        for _ in range(JOB_S // EVERY_S):
            yield "get_task", {"task": task}
        return "It has ended."

    await chat.say("Tell me when it has ended.", looks)
    await chat.say(f"So how did it go? {task}", reports())
    return chat
