"""Writes the components of ``openapi.yaml`` from the models: ``python -m jupyter_diamond.server.openapi``.

The paths are written by hand; everything below the mark is generated, and a test checks that it is current.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from jupyter_diamond.agent.tools.registry import all_specs
from jupyter_diamond.model.charge import Charges
from jupyter_diamond.model.continuation import Continuation, Cursor, Registered, Registration, Waking
from jupyter_diamond.model.data import Dataset, Listing
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.endpoint import Endpoints
from jupyter_diamond.model.environment import SiteEnvironments
from jupyter_diamond.model.forecast import Forecasts
from jupyter_diamond.model.group import Group, GroupRequest, GroupResults, GroupSubmitted
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.launch import LaunchForm, LineForm, LineRead
from jupyter_diamond.model.login import Login, LoginStart
from jupyter_diamond.model.looks import Accounted, Executed, Idle, Outlook, Preflight, PutFile, SiteEnv
from jupyter_diamond.model.proposal import AgentSwitch, AuditCheck, Proposal, StandingBudget
from jupyter_diamond.model.receipt import Crate, CrateForm, FileList, GroupFiles, Receipt
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.task import Submitted, Task, TaskRequest
from jupyter_diamond.model.tool import ToolAnswer, ToolCall, ToolList
from jupyter_diamond.model.transfer import Transfer, TransferPlan
from jupyter_diamond.model.verdict import GroupVerdict, TaskVerdict
from jupyter_diamond.model.views import ErrorView, EventPage, Interpreter, LogChunk, ResultView, Status
from jupyter_diamond.server.approval_forms import (
    ApproveForm,
    AuditPage,
    BudgetForm,
    BudgetList,
    DenyForm,
    ProposalList,
    SwitchForm,
)
from jupyter_diamond.server.data_forms import DataForm, DatasetList, DropForm, TransferForm, TransferList
from jupyter_diamond.server.forms import (
    CodeForm,
    ContinuationList,
    ExecForm,
    GroupList,
    IdleForm,
    InterpreterForm,
    LoginForm,
    MemberList,
    PlanForm,
    RefreshForm,
    ReplanForm,
    SmokeForm,
    TaskList,
)

OPENAPI = Path(__file__).with_name("openapi.yaml")
MARK = "# ---- generated below this line by jupyter_diamond/server/openapi.py ----\n"

REQUESTS: tuple[type[BaseModel], ...] = (
    TaskRequest, RefreshForm, InterpreterForm, PlanForm, IdleForm, ExecForm, SmokeForm, LoginForm, CodeForm,
    ReplanForm,
    Registration, GroupRequest, ToolCall,
    ApproveForm, DenyForm, BudgetForm, SwitchForm,
    DraftRequest,
    LineForm, LaunchForm,
    CrateForm,
    DataForm, DropForm, TransferForm,
)  # fmt: skip
ANSWERS: tuple[type[BaseModel], ...] = (
    Status, Snapshot, Interpreter, Decision, Submitted, TaskList, Task, EventPage, LogChunk, ResultView, ErrorView,
    Idle, Outlook, SiteEnv, SiteEnvironments, Executed, PutFile, Preflight, Accounted, Login, LoginStart,
    GroupSubmitted, GroupList, Group, GroupResults, MemberList,
    Endpoints, SiteHistory, Forecasts, Charges, Registered, Continuation, ContinuationList, Cursor, Waking,
    ToolList, ToolAnswer,
    Proposal, ProposalList, StandingBudget, BudgetList, AgentSwitch, AuditPage, AuditCheck,
    TaskVerdict, GroupVerdict,
    Draft,
    LineRead,
    Receipt, FileList, GroupFiles, Crate,
    Dataset, DatasetList, Listing, Transfer, TransferList, TransferPlan,
)  # fmt: skip


def schemas() -> dict[str, Any]:
    """JSON schemas of all models: of what is sent as it is checked, of what is answered as it is written."""
    wanted: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = []
    wanted += [(model, "validation") for model in REQUESTS]
    wanted += [(model, "serialization") for model in ANSWERS]
    _, everything = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    definitions: dict[str, Any] = everything["$defs"]
    definitions |= {f"arguments_of_{spec.name}": spec.parameters for spec in all_specs()}
    return dict(sorted(definitions.items()))


_TRUTH = frozenset({"on", "off", "yes", "no", "y", "n"})


def _quoted(value: Any) -> Any:
    """The same, with quotes around words such as ``on`` and ``No``: readers of YAML 1.1 take them for truth values."""
    if isinstance(value, dict):
        return {_quoted(key): _quoted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_quoted(one) for one in value]
    return DoubleQuotedScalarString(value) if isinstance(value, str) and value.lower() in _TRUTH else value


def current(text: str) -> str:
    """The description with its components made new."""
    by_hand, mark, _ = text.partition(MARK)
    if not mark:
        raise ValueError(f"{OPENAPI} has lost the line that starts its generated part: {MARK}")
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 110
    stream = io.StringIO()
    yaml.dump({"components": {"schemas": _quoted(schemas())}}, stream)
    return by_hand + mark + stream.getvalue()


if __name__ == "__main__":
    OPENAPI.write_text(current(OPENAPI.read_text(encoding="utf-8")), encoding="utf-8")
