"""The REST API of groups; their members are asked about as any task."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.model.group import GroupRequest

from .base import DiamondHandler
from .forms import GroupList, GroupsQuery, MemberList, MembersQuery, ReplanForm, ResultsQuery, TaskEventsQuery


class GroupsHandler(DiamondHandler):
    """All groups."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Groups, newest first."""
        asked = self.query(GroupsQuery)
        found = await self.service.groups.groups(asked.name, asked.phase, asked.notebook, asked.limit)
        self.answer(GroupList.model_construct(groups=found))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Take a group: the field ``request`` (JSON) and the file ``bundle``."""
        request, bundle = self.submission(GroupRequest)
        submitted = await self.service.groups.submit(request, bundle)
        self.answer(submitted, 201 if submitted.created and not submitted.attached else 200)


class GroupHandler(DiamondHandler):
    """One group."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """A group by id, or the newest of that name."""
        self.answer(await self.service.groups.group(ref))


class MembersHandler(DiamondHandler):
    """A group's members."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Task lines, by their number."""
        asked = self.query(MembersQuery)
        lines = await self.service.groups.tasks(ref, asked.states, asked.limit, asked.after)
        # the lines come from the store as they are: a long list is not validated a second time
        self.answer(MemberList.model_construct(tasks=lines))


class GroupEventsHandler(DiamondHandler):
    """What happened to one group."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Its own events, oldest first."""
        asked = self.query(TaskEventsQuery)
        self.answer(await self.service.groups.events(ref, asked.after, asked.limit))


class GroupResultsHandler(DiamondHandler):
    """What a group brought back."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """The receipts of its members with their small values."""
        asked = self.query(ResultsQuery)
        self.answer(await self.service.groups.results(ref, asked.after, asked.limit))


class GroupCancelHandler(DiamondHandler):
    """The end of a group, on request."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Ask for it."""
        self.answer(await self.service.groups.cancel(ref, "you"))


class GroupHoldHandler(DiamondHandler):
    """Nothing more of it for now."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Hold it."""
        self.answer(await self.service.groups.hold(ref, "you"))


class GroupReleaseHandler(DiamondHandler):
    """It may go on."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Release it."""
        self.answer(await self.service.groups.release(ref, "you"))


class GroupReplanHandler(DiamondHandler):
    """Other places for what waits."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Share it out anew."""
        self.answer(await self.service.groups.replan(ref, "you", unpin=self.form(ReplanForm).unpin))


GROUP_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/groups", GroupsHandler),
    ("/groups/([^/]+)", GroupHandler),
    ("/groups/([^/]+)/tasks", MembersHandler),
    ("/groups/([^/]+)/events", GroupEventsHandler),
    ("/groups/([^/]+)/results", GroupResultsHandler),
    ("/groups/([^/]+)/cancel", GroupCancelHandler),
    ("/groups/([^/]+)/hold", GroupHoldHandler),
    ("/groups/([^/]+)/release", GroupReleaseHandler),
    ("/groups/([^/]+)/replan", GroupReplanHandler),
]
