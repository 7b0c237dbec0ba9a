"""A Jupyter server extension that answers the REST API from a canned pool and does what a test tells it to.

It stands in for the server half only where the real one cannot be brought into a state on purpose: missing, refusing,
silent, a thousand tasks, hostile names. ``POST /pool_stub`` takes ``{"do": ..., ...}``; see ``Stub``.
"""

from __future__ import annotations

import json
from typing import Any

import canned_pool as canned
import canned_wall
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.extension.application import ExtensionApp
from tornado import web

from jupyter_diamond.errors import ApprovalVoid, InvalidRequest
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.login import Login, LoginStart
from jupyter_diamond.model.proposal import AgentSwitch, Proposal, StandingBudget
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.model.views import ErrorView, EventPage, Limits, LogChunk, Status

SCHEMA = "https://schema.jupyter-diamond.org/pool/v1"
EVENT_SCHEMA = {
    "$id": SCHEMA,
    "version": "1",
    "title": "Something of the pool changed",
    "type": "object",
    "properties": {
        "kind": {"enum": ["task", "group", "site", "login", "proposal", "agents", "transfer"]},
        "id": {"type": "string"},
        "version": {"type": "integer"},
    },
    "required": ["kind", "id", "version"],
}


class FakeLogin:
    """The two routes of the login, small enough to be seen through: the right code is ``right-code``."""

    def __init__(self) -> None:
        self.state: Login | None = None
        self.url = ""

    def order(self, order: dict[str, Any]) -> None:
        self.state = Login.model_validate(order["state"])
        self.url = order.get("url", self.url)

    def begin(self, way: str, page: str) -> LoginStart:
        return LoginStart(way=way, url=f"{self.url or page}?way={way}")

    def finish(self, code: str) -> Login:
        if code != "right-code":
            raise InvalidRequest("Globus does not know this code: it may be used once, within ten minutes. Begin anew.")
        self.state = Login(health="signed_in", mode="pasted", identity="ada@uni.edu")
        return self.state

    def end(self) -> Login:
        self.state = Login(health="needs_login", problem="You are logged out of Globus.", ways=("code",))
        return self.state


class FakeAgents:
    """What an agent proposes and what it may; the word of the page is kept, and nothing is done."""

    def __init__(self) -> None:
        self.proposals: dict[str, Proposal] = {}
        self.budgets: dict[str, StandingBudget] = {}
        self.switch = AgentSwitch()

    def order(self, order: dict[str, Any]) -> tuple[str, str]:
        if "budget" in order:
            made = canned.budget(order["budget"], **order.get("changes", {}))
            self.budgets[made.id] = made
            return ("agents", "agents")
        made = canned.proposal(order["proposal"], **order.get("changes", {}))
        self.proposals[made.id] = made
        return ("proposal", made.id)

    def get(self, path: list[str], standing: str) -> Value | dict[str, Any]:
        if path[0] == "budgets":
            return {"budgets": [each.model_dump(mode="json") for each in self.budgets.values()]}
        if path[0] == "agents":
            return self.switch
        if len(path) > 1:
            return self.proposals[path[1]]
        found = [each for each in self.proposals.values() if each.standing in standing.split(",")]
        return {"proposals": [each.model_dump(mode="json") for each in reversed(found)]}

    def post(self, path: list[str], form: dict[str, Any]) -> tuple[Value, tuple[str, str]]:
        if path[0] == "agents":
            self.switch = AgentSwitch(on=form["on"], by="you", at=canned.ago(0))
            return self.switch, ("agents", "agents")
        found = self.proposals[path[1]]
        if path[2] == "deny":
            found = found.model_copy(update={"standing": "denied", "reason": form["reason"]})
        elif form["hash"] != found.hash:
            raise ApprovalVoid("What you approve is not what is proposed now; look at it again. Nothing was approved.")
        else:
            found = found.model_copy(update={"standing": "done", "task": "t-fit"})
        self.proposals[found.id] = found
        return found, ("proposal", found.id)

    def revoke(self, ident: str) -> StandingBudget:
        return self.budgets.pop(ident)


class Stub:
    """The pool's state, and what a test may do to it."""

    def __init__(self) -> None:
        self.tasks = {task.id: task for task in canned.tasks()}
        self.groups: dict[str, Group] = {}
        self.sites = canned.sites()
        self.charges = canned_wall.charges()
        self.logs = {"t-fit": "".join(f"epoch {n}  loss {1 / (n + 3):.3f}\n" for n in range(14))}
        self.login = FakeLogin()
        self.agents = FakeAgents()
        self.transfers: dict[str, Transfer] = {}
        self.status = 200
        self.seq = 20
        self.asked: dict[str, int] = {}

    def reset(self) -> None:
        seq = self.seq
        self.__init__()
        self.seq = seq + 1

    def do(self, order: dict[str, Any]) -> tuple[str, str] | None:
        """Carry the order out; answers the event to tell, if any."""
        self.seq += 1
        what = order.pop("do")
        if what == "reset":
            self.reset()
        elif what == "answer":
            self.status = order["status"]
        elif what == "log":
            self.logs[order["task"]] = self.logs.get(order["task"], "") + order["text"]
        else:
            return self._change(what, order)
        return None

    def _change(self, what: str, order: dict[str, Any]) -> tuple[str, str] | None:
        if what == "transfer":
            made = canned.transfer(**order)
            self.transfers[made.id] = made
            return ("transfer", made.id)
        if what == "login":
            self.login.order(order)
            return ("login", "login")
        if what == "group":
            grouped = canned.group(version=self.seq, **order)
            self.groups[grouped.id] = grouped
            return ("group", grouped.id)
        if what in ("agents", "fill"):
            return self.agents.order(order) if what == "agents" else self._fill(**order)
        if what in ("sites", "charges", "empty", "site"):
            return self._wall(what, order)
        return self._move(**order)

    def _wall(self, what: str, order: dict[str, Any]) -> tuple[str, str]:
        if what == "sites":
            self.sites = canned_wall.many(**order)
        elif what == "charges":
            self.charges = canned_wall.charges(**order)
            return ("task", "charged")
        elif what == "empty":
            self.tasks, self.groups, self.sites = {}, {}, canned_wall.many(0, 0)
        else:
            self.sites = self.sites.model_copy(update={"sites": tuple(self._site(s, order) for s in self.sites.sites)})
        return ("site", order.get("site", "all"))

    def _site(self, site: Any, order: dict[str, Any]) -> Any:
        if site.site != order["site"]:
            return site
        return type(site).model_validate({**site.model_dump(), **order.get("changes", {}), "read_at": canned.ago(0)})

    def _fill(self, count: int, name: str = "bulk") -> tuple[str, str]:
        for n in range(count):
            ident = f"t-bulk-{n:04d}"
            self.tasks[ident] = canned.task(
                ident, f"{name}_{n}", State.COMPLETED, version=self.seq, created=20000 + 60 * n,
                started_at=canned.ago(19990 + 60 * n), ended_at=canned.ago(19000 + 60 * n),
            )  # fmt: skip
        return ("task", "many")

    def _move(self, task: str, state: str, silent: bool = False, **changes: Any) -> tuple[str, str] | None:
        now = State(state)
        old = self.tasks.get(task)
        if old is None:
            self.tasks[task] = canned.task(task, changes.pop("name", task), now, version=self.seq, created=0, **changes)
        else:
            newest = old.attempts[-1].model_copy(
                update={"state": now, "started_at": old.attempts[-1].started_at or canned.ago(0)}
            )
            update = {"state": now, "phase": now.phase, "outcome": now.outcome, "version": self.seq, **changes}
            if now.terminal:
                update["ended_at"] = canned.ago(0)
                newest = newest.model_copy(update={"ended_at": canned.ago(0)})
            self.tasks[task] = old.model_copy(update={**update, "attempts": (*old.attempts[:-1], newest)})
        return None if silent else ("task", task)


class Api(APIHandler):
    """All of the REST API that the sidebar asks for."""

    @property
    def stub(self) -> Stub:
        return self.settings["pool_stub"]

    def _answer(self, value: Value | dict[str, Any]) -> None:
        text = value.model_dump_json() if isinstance(value, Value) else json.dumps(value)
        self.set_header("Content-Type", "application/json")
        self.finish(text)

    def _refuse(self, status: int) -> None:
        self.set_status(status)
        if status >= 500:
            self._answer(ErrorView(code="transport", message="The store cannot be read: disk full."))
        else:
            self.finish("no")

    @web.authenticated
    @authorized("read", resource="diamond")
    def get(self, path: str) -> None:
        stub = self.stub
        stub.asked[path] = stub.asked.get(path, 0) + 1
        if stub.status != 200:
            return self._refuse(stub.status)
        head, _, rest = path.partition("/")
        found = canned_wall.answer(path, stub.sites, stub.charges, self.get_argument("site", ""))
        if head == "status":
            limits = Limits(value_bytes=1, bundle_bytes=1, inline_result_bytes=1)
            active = sum(not task.state.terminal for task in stub.tasks.values())
            found = Status(version="0", advances_work=True, lease_holder="stub", store_path="-", limits=limits,
                           active_tasks=active, newest_event=stub.seq)  # fmt: skip
        if found is not None:
            return self._answer(found)
        if head == "login":
            return self._login(stub.login.state)
        if head == "transfers":
            return self._answer(
                {"transfers": [t.model_dump(mode="json") for t in stub.transfers.values() if not t.ended]}
            )
        if head in ("proposals", "budgets", "agents"):
            return self._answer(stub.agents.get(path.split("/"), self.get_argument("standing", "")))
        return self._groups(*rest.split("/")) if head == "groups" else self._tasks(rest)

    def _tasks(self, rest: str) -> None:
        if rest == "":
            return self._list()
        return self._task(*rest.split("/"))

    def _login(self, state: Login | None) -> None:
        if state is None:
            self.set_status(404)
            return self._answer(ErrorView(code="not_found", message="There is no login here."))
        return self._answer(state)

    @web.authenticated
    @authorized("write", resource="diamond")
    def delete(self, path: str) -> None:
        head, _, ident = path.partition("/")
        if head == "budgets":
            self._answer(self.stub.agents.revoke(ident))
            return
        self._login(self.stub.login.end())

    def _list(self) -> None:
        rows = list(self.stub.tasks.values())
        phase, newer, before = (self.get_argument(name, None) for name in ("phase", "newer", "before"))
        if phase is not None:
            rows = [task for task in rows if task.state.terminal != (phase == "active")]
        rows.sort(key=lambda task: task.created_at, reverse=True)
        if before is not None:
            rows = rows[1 + next(at for at, task in enumerate(rows) if task.id == before) :]
        if newer is not None:
            rows = sorted((task for task in rows if task.version > int(newer)), key=lambda task: task.version)
        limit = int(self.get_argument("limit", "100"))
        self._answer({"tasks": [canned.summary(task).model_dump(mode="json") for task in rows[:limit]]})

    def _groups(self, ident: str, what: str = "") -> None:
        if ident == "":
            ended = self.get_argument("phase") == "ended"
            found = [group for group in self.stub.groups.values() if (group.phase is Phase.ENDED) == ended]
            return self._answer({"groups": [group.model_dump(mode="json") for group in found]})
        group = self.stub.groups[ident]
        if what == "":
            return self._answer(group)
        if what == "events":
            return self._answer(EventPage(events=(), cursor=0))
        wanted = self.get_argument("state", "").split(",")
        found = [each for each in canned.members(group) if wanted == [""] or each.state.value in wanted]
        limit = int(self.get_argument("limit"))
        return self._answer({"tasks": [each.model_dump(mode="json") for each in found[:limit]]})

    def _task(self, ident: str, what: str = "") -> None:
        task = self.stub.tasks.get(ident)
        if task is None:
            self.set_status(404)
            return self._answer(ErrorView(code="not_found", message=f"There is no task {ident}."))
        if what == "":
            return self._answer(task)
        if what == "verdict":
            return self._answer(canned.verdict(task))
        if what == "decision":
            return self._answer(canned.decision())
        if what == "events":
            after = int(self.get_argument("after", "0"))
            found = [event for event in canned.events(task) if event.seq > after]
            return self._answer(EventPage(events=tuple(found), cursor=found[-1].seq if found else after))
        return self._log(ident)

    def _log(self, ident: str) -> None:
        data = self.stub.logs.get(ident, "").encode()
        tail = self.get_argument("tail", None)
        offset = max(0, len(data) - int(tail)) if tail else int(self.get_argument("offset", "0"))
        piece = data[offset : offset + int(self.get_argument("limit", "65536"))]
        self._answer(LogChunk(text=piece.decode(errors="backslashreplace"), offset=offset, next_offset=offset + len(piece),
                              size=len(data), exists=ident in self.stub.logs))  # fmt: skip

    @web.authenticated
    @authorized("write", resource="diamond")
    def post(self, path: str) -> None:
        if path == "sites/refresh":
            for site in self.stub.sites.sites:
                if site.health == "online":
                    self.stub.do({"do": "site", "site": site.site})
            self._answer(self.stub.sites)
            return
        if path.startswith(("proposals", "agents")):
            self._word(path.split("/"), json.loads(self.request.body))
            return
        if path.startswith("login"):
            self._log_in(path, json.loads(self.request.body))
            return
        ident, act = path.split("/")[1:]
        if path.startswith("transfers"):
            tell(self, self.stub.do({"do": "transfer", "ident": ident, "cancel_requested_by": "you"}))
            self._answer(self.stub.transfers[ident])
            return
        if path.startswith("groups"):
            told = {
                "cancel": {"cancel_requested_by": "you"},
                "hold": {"held_by": "you"},
                "release": {"held_by": None},
                "replan": {},
            }
            tell(self, self.stub.do({"do": "group", **told[act]}))
            self._answer(self.stub.groups[ident])
            return
        if act == "replan" and self.stub.tasks[ident].phase is not Phase.PENDING:
            self.set_status(409)
            self._answer(ErrorView(code="conflict", message=f"{self.stub.tasks[ident].name} has started."))
            return
        done = {"state": "waiting"} if act == "replan" else {"state": "cancelled", "cause": "Cancelled by you."}
        tell(self, self.stub.do({"do": "move", "task": ident, **done}))
        self._answer(self.stub.tasks[ident])

    def _word(self, path: list[str], form: dict[str, Any]) -> None:
        try:
            answer, event = self.stub.agents.post(path, form)
        except ApprovalVoid as error:
            self.set_status(error.http_status)
            self._answer(ErrorView(code=error.code, message=error.message))
            return
        self.stub.seq += 1
        tell(self, event)
        self._answer(answer)

    def _log_in(self, path: str, form: dict[str, str]) -> None:
        if path == "login":
            return self._answer(self.stub.login.begin(form["way"], f"http://{self.request.host}/api"))
        try:
            self._answer(self.stub.login.finish(form["code"]))
        except InvalidRequest as error:
            self.set_status(422)
            self._answer(ErrorView(code=error.code, message=error.message))


class Control(APIHandler):
    """Where a test gives its orders, and reads what was asked."""

    @web.authenticated
    @authorized("read", resource="diamond")
    def get(self) -> None:
        self.finish(self.settings["pool_stub"].asked)

    @web.authenticated
    @authorized("write", resource="diamond")
    def post(self) -> None:
        for order in json.loads(self.request.body):
            tell(self, self.settings["pool_stub"].do(order))
        self.finish("{}")


def tell(handler: APIHandler, event: tuple[str, str] | None) -> None:
    if event is not None:
        stub: Stub = handler.settings["pool_stub"]
        data = {"kind": event[0], "id": event[1], "version": stub.seq}
        handler.event_logger.emit(schema_id=SCHEMA, data=data)


class PoolStub(ExtensionApp):
    name = "pool_stub"

    def initialize_settings(self) -> None:
        self.serverapp.event_logger.register_event_schema(EVENT_SCHEMA)
        self.settings["pool_stub"] = Stub()

    def initialize_handlers(self) -> None:
        self.handlers += [(r"/jupyter_diamond/api/(.*)", Api), (r"/pool_stub", Control)]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "pool_stub", "app": PoolStub}]
