"""From a cell to a task: capture, preflight, pack, hand over, show the card. All checks come before sending."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from uuid import uuid4

from jupyter_diamond.cell.capture import Capture, capture
from jupyter_diamond.cell.history import IPythonHistory
from jupyter_diamond.cell.pack import Bundle, pack
from jupyter_diamond.cell.preflight import preflight
from jupyter_diamond.cell.spec import Statement
from jupyter_diamond.errors import CaptureRefused, Infeasible, InvalidRequest
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.environment import PackageDifference
from jupyter_diamond.model.group import GroupRequest
from jupyter_diamond.model.task import KernelPython, NotebookCell, TaskRequest
from jupyter_diamond.model.views import Interpreter
from jupyter_diamond.sites.gpus import gpus_of

from .differences import differences, distributions, said_of
from .group_handle import GroupHandle
from .group_words import group_word
from .handle import TaskHandle
from .options import SubmitOptions, parse_submit
from .session import NOTEBOOK, Session
from .staging_plan import staging_plan
from .sweep import Sweep
from .vocabulary import LOOK


@dataclass(frozen=True)
class DryRun:
    """What would travel and where it would go; nothing was sent."""

    name: str
    captured: Capture
    decision: Decision
    interpreter: Interpreter | None
    sweep: Sweep | None = None
    differences: tuple[PackageDifference, ...] = ()
    staging: tuple[str, ...] = ()


def submit(session: Session, line: str, cell: str) -> TaskHandle | GroupHandle | DryRun | None:
    """Carry out ``%%diamond_submit``. Raises a DiamondError with one sentence, having started nothing.

    None: a draft was shown, and nothing else was asked for.
    """
    options = parse_submit(line, lambda: gpus_of(session.client.sites()), session.namespace.names)
    _check_name(session, options)
    taken = capture(
        cell,
        session.namespace.names,
        name=options.name,
        language=options.language,
        inputs=options.inputs,
        outputs=options.outputs,
        folder=notebook_folder(),
        history=IPythonHistory(session.shell),
        limits=session.limits(),
        members=options.sweep.members if options.sweep is not None else (),
    )
    preflight(taken)
    if options.draft:
        options = _drafted(session, options, taken, cell)
        if options.draft == "show":
            return None
    for warning in (*taken.warnings, *segment_notes(options, taken)):
        print(warning)  # noqa: T201 - said above the card
    if options.dry_run:
        return _dry_run(session, options, taken)
    if options.language == "python":
        _check_interpreter(session, options, taken)
    bundle = pack(taken)
    request = _request(session, options, taken, cell, bundle)
    hand_in = _hand_in if options.sweep is None else _hand_in_group
    handle = hand_in(session, options, request, bundle)
    session.namespace.names[options.name] = handle
    handle.show()
    if options.wait:
        handle.wait()
    return handle


def _dry_run(session: Session, options: SubmitOptions, taken: Capture) -> DryRun:
    """What a submission would come to."""
    sweep = options.sweep
    first = sum(1 for member in sweep.members if member.round == 1) if sweep is not None else 1
    at_once = sweep.at_once if sweep is not None else None
    decision = session.client.plan(options.envelope, members=max(1, first), at_once=at_once)
    there, found = _asked(session, decision, taken)
    moves = tuple(staging_plan(options.envelope, decision, session.client.dataset))
    return DryRun(options.name, taken, decision, there, sweep, found, moves)


def _drafted(session: Session, options: SubmitOptions, taken: Capture, cell: str) -> SubmitOptions:
    """The draft is shown; the options with its envelope."""
    from .drafts import of_capture, show  # reads code: not when the extension is loaded

    asked = of_capture(taken, cell, words=options.words, given=options.given, model=options.model)
    drafted = session.client.draft(asked)
    show(drafted, f"%%diamond_submit {options.name}", sends=options.draft == "go")
    env = options.envelope.env  # one that was read from a file has no word that a draft could keep
    return replace(options, envelope=drafted.envelope.model_copy(update={"env": env or drafted.envelope.env}))


def _hand_in(session: Session, options: SubmitOptions, request: TaskRequest, bundle: Bundle) -> TaskHandle:
    expected = session.namespace.expect(options.outputs)
    submitted = session.client.submit(request, bundle.data)
    session.follow(submitted.task, expected=expected)
    if submitted.attached:
        same = submitted.task.envelope == options.envelope and submitted.task.outputs == options.outputs
        _say_attached(options.name, LOOK[submitted.task.state].word, same=same)
    return TaskHandle(session, submitted.task)


def _hand_in_group(session: Session, options: SubmitOptions, request: TaskRequest, bundle: Bundle) -> GroupHandle:
    sweep = options.sweep
    assert sweep is not None, "only a line with members comes here"
    asked = GroupRequest(request=request, members=sweep.members, at_once=sweep.at_once, next_round=sweep.next_round)
    submitted = session.client.submit_group(asked, bundle.data)
    group = submitted.group
    if submitted.attached:
        same = (group.envelope, group.outputs, group.at_once) == (options.envelope, options.outputs, sweep.at_once)
        _say_attached(options.name, group_word(group), same=same)
    return GroupHandle(session, group)


def _say_attached(name: str, state: str, *, same: bool) -> None:
    kept = "" if same else " It keeps the options that it was sent with."
    print(  # noqa: T201 - said above the card, once
        f"{name} is already {state} and is attached to this cell; nothing was sent.{kept} "
        f"To run it again: %%diamond_submit {name} --again …"
    )


def segment_notes(options: SubmitOptions, taken: Capture) -> list[str]:
    """What is said above the card where segments and checkpoints do not go together."""
    allowed = options.healing.segments
    sources = [taken.spec.cell, *(item.source for item in taken.spec.prelude if isinstance(item, Statement))]
    text = "\n".join([*sources, *(data.decode("utf-8", "replace") for data in taken.modules.values())]).lower()
    if allowed > 1 and "checkpoint" not in text:
        no_saves = "but nothing in the cell saves a checkpoint: a segment that leaves none is the last."
        return [f"--segments {allowed}, {no_saves} help(jupyter_diamond.checkpoint) says how."]
    if allowed == 1 and ("checkpoint.leave(" in text or "diamond_continue" in text):
        return ["The cell leaves off to be continued, and without --segments 5 nothing would go on from there."]
    return []


def notebook_folder() -> Path:
    """Where the notebook lies: modules beside it travel. The server names the notebook in the kernel's environment."""
    notebook = os.environ.get(NOTEBOOK, "")
    folder = Path(notebook).parent if notebook else Path.cwd()
    return folder if folder.is_dir() else Path.cwd()


def _check_name(session: Session, options: SubmitOptions) -> None:
    held = session.namespace.names.get(options.name)
    if held is not None and not isinstance(held, TaskHandle | GroupHandle):
        raise InvalidRequest(
            f"`{options.name}` is a variable of this notebook ({type(held).__name__}) that the task's handle would "
            "overwrite. Give the task another name."
        )


def _check_interpreter(session: Session, options: SubmitOptions, taken: Capture) -> None:
    """Refuse now what would fail at the site after hours in its queue."""
    site, env = options.envelope.site, options.envelope.env
    if site is None:
        decision = session.client.plan(options.envelope)
        site = decision.choice.site if decision.choice else None
        if site is None:
            raise Infeasible(decision.sentence)
    here = distributions(taken.spec.requires)
    there = session.interpreter(site, taken.spec.requires, env, tuple(package for package, _ in here.values()))
    if there.problem:
        raise CaptureRefused(there.problem)
    if there.missing:
        raise CaptureRefused(_lacking(site, there))
    if said := said_of(differences(taken.spec.requires, here, there), f"{site} ({env.name})" if env else site):
        print(said)  # noqa: T201 - said above the card
    if taken.spec.same_minor and there.version is not None and there.version[:2] != sys.version_info[:2]:
        names = ", ".join(f"`{name}`" for name in taken.spec.same_minor)
        raise CaptureRefused(
            f"{names} can only travel as bytecode of Python {sys.version_info[0]}.{sys.version_info[1]}, but cells at "
            f"{site} run under {there.version[0]}.{there.version[1]}. Define it with def in a cell of its own, so that "
            "its source travels, or name an interpreter of your version for this site."
        )


def _lacking(site: str, there: Interpreter) -> str:
    names = ", ".join(f"`{name}`" for name in there.missing)
    if there.environment:
        return (
            f"The cell imports {names}, which the environment {there.environment} at {site} does not have. Add it "
            "there, name another with --env, or list what you need in a file: --env requirements.txt."
        )
    return (
        f"The cell imports {names}, which {there.executable} at {site} does not have. Install it there, name another "
        "interpreter for this site, have an environment built with --env requirements.txt, or send the cell elsewhere "
        "with --site."
    )


def _asked(
    session: Session, decision: Decision, taken: Capture
) -> tuple[Interpreter | None, tuple[PackageDifference, ...]]:
    """What would run it at the place that was chosen, and how that differs from this kernel."""
    if decision.choice is None:
        return None, ()
    modules = taken.spec.requires
    here = distributions(modules)
    packages = tuple(package for package, _ in here.values())
    there = session.interpreter(decision.choice.site, modules, decision.envelope.env, packages)
    return there, differences(modules, here, there)


def _request(session: Session, options: SubmitOptions, taken: Capture, cell: str, bundle: Bundle) -> TaskRequest:
    return TaskRequest(
        client_token=uuid4().hex,
        name=options.name,
        language=options.language,
        envelope=options.envelope,
        outputs=options.outputs,
        source=cell,
        digest=bundle.digest,
        bundle_sha256=bundle.sha256,
        python=KernelPython(executable=sys.executable, version=sys.version_info[:3]),
        captured=taken.captured,
        imports=taken.spec.requires,
        notebook=NotebookCell(path=os.environ.get(NOTEBOOK) or None, cell_id=_cell_id(session)),
        cwd=str(Path.cwd()),
        again=options.again,
        healing=options.healing,
    )


def _cell_id(session: Session) -> str | None:
    """The running cell's id, which JupyterLab sends along with its code."""
    kernel = getattr(session.shell, "kernel", None)
    if kernel is None:
        return None
    cell_id = kernel.get_parent().get("metadata", {}).get("cellId")
    return cell_id if isinstance(cell_id, str) else None


def describe(dry: DryRun) -> str:
    """The line above a dry run's tables; the decision's own sentence stands below them."""
    now = datetime.now(timezone.utc)
    age = [c.record_age_s for c in dry.decision.candidates if c.record_age_s is not None]
    old = f" (facts up to {max(age):.0f} s old at {now.astimezone():%H:%M:%S})" if age else ""
    said = f"{dry.name} was not sent{old}.{_runs_in(dry)}{_group_text(dry.sweep)}"
    return "\n".join((said, *dry.staging))


def _runs_in(dry: DryRun) -> str:
    """What a dry run says of the interpreter that would run it."""
    there, env = dry.interpreter, dry.decision.envelope.env
    if there is None:
        return ""
    if there.problem:
        return f" {there.problem}"
    if there.to_build:
        return (
            f" The environment {there.environment} is built there first; then it is tried with what the cell imports."
        )
    return "" if env is None else f" It would run in {env.name}, {there.executable}."


def _group_text(sweep: Sweep | None) -> str:
    """What a dry run says of the members beyond their table."""
    if sweep is None:
        return ""
    members = sweep.members
    first = sum(1 for member in members if member.round == 1)
    parts = [f"{len(members):,} members", f"at most {sweep.at_once} at once at a site" if sweep.at_once else ""]
    if first < len(members):
        how = "well" if sweep.next_round == "ok" else "in any way"
        parts.append(f"the first {first:,} now, the rest when these have ended {how}")
    return f" {', '.join(part for part in parts if part)}."
