"""Diamond in Jupyter AI's chat. It keeps nothing: there is one for each chat that is open, and it goes with its tab.

Its package and class make its id, which chats keep: neither may ever be renamed.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from jupyter_ai_persona_manager import BasePersona, PersonaDefaults, PersonaRequirementsUnmet
except ImportError as missing:  # only Jupyter AI itself loads this module
    raise ImportError("Diamond's persona needs Jupyter AI: pip install 'jupyter-diamond[ai]'.") from missing

if TYPE_CHECKING:
    from jupyterlab_chat.models import Message

    from jupyter_diamond.agent.desk import AgentDesk

if find_spec("pydantic_ai") is None:  # to import it takes seconds, and the first chat would wait for it
    raise PersonaRequirementsUnmet("pip install 'jupyter-diamond[ai]'")

AVATAR = Path(__file__).with_name("diamond.svg")
DEFAULTS = PersonaDefaults(
    name="Diamond",
    description="Places jobs on your clusters: shows a plan, waits for your yes, is quiet while they run, and reports.",
    avatar_path=str(AVATAR),
    system_prompt="",
)


class DiamondPersona(BasePersona):  # type: ignore[misc] # its library has no type information
    """Passes messages on to the server's one desk."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self._desk is not None:
            self._desk.chats.opened(self.chat.get_id())

    @property
    def defaults(self) -> PersonaDefaults:
        """Name, picture and what it does."""
        return DEFAULTS

    @property
    def _desk(self) -> AgentDesk | None:
        """Of the server that the chat is in; None where our server extension is off."""
        serverapp = getattr(getattr(self.parent, "parent", None), "serverapp", None)
        desk: AgentDesk | None = serverapp.web_app.settings.get("diamond_agent") if serverapp is not None else None
        return desk

    async def process_message(self, message: Message) -> None:
        """A message to Diamond."""
        desk = self._desk
        if desk is None:
            self.send_message(
                "Diamond's server extension is off, so there is nothing to ask: switch it on with "
                "`jupyter server extension enable jupyter_diamond`, and restart the server."
            )
            return
        await desk.chats.heard(self, message)

    async def handle_uncaught_exception(self, exc: Exception) -> None:
        """A defect of ours: the server's log has it, the chat a sentence."""
        self.send_message(
            f"Something in Diamond went wrong ({type(exc).__name__}); the server's log says what. "
            "`status` tells what is under way."
        )
