"""One partition's rules, accounts and what they have left, charges, and the words that can be asked with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import Field

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.charge import AccountCharges, Spent
from jupyter_diamond.model.envelope import Objective, Softenable
from jupyter_diamond.model.limits import Cap
from jupyter_diamond.model.policy import PartitionPolicy
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.snapshot import NodeShape, Record, SiteReading

from .answers import UNKNOWN, age, at, foreign, known, limit, size_of, time_limit, without_empty, word
from .needs import RARE, Needs
from .parameters import SiteName
from .pool import chosen_sites, kinds_of_gpu, now, partition_view, site_view
from .registry import GROUPS, tool
from .views import STATES

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk


@tool("read", "pool", long=True)
async def explain_partition(desk: AgentDesk, _speaker: Speaker, *, site: SiteName, partition: str) -> dict[str, Any]:
    """All that is known of one partition: node shapes, limits, who may use it, caps and what you have of them, policy.

    Use it when a plan was refused there, or before pinning a job to it.

    Args:
        site: which site
        partition: its name, as list_resources tells it
    """
    (reading,) = chosen_sites(await desk.service.sites(), site)
    record = next((each for each in reading.records if each.partition == partition), None)
    if record is None:
        names = ", ".join(word(each.partition) for each in reading.records) or "none is known"
        raise NotFound(f"{site} has no partition {partition[:60]!r}; there are: {names}.")
    return without_empty(partition_view(record) | site_view(reading, now()) | _rules(record))


def _rules(record: Record) -> dict[str, Any]:
    return {
        "facts_are": f"{age(record.read_at, now())} old",
        "default": record.default or None,
        "node_kinds": [_shape(shape) for shape in record.shapes],
        "nodes_in_all": known(record.nodes_total),
        "nodes_per_job_at_most": limit(record.max_nodes),
        "time_at_most": time_limit(record.walltime_cap_s),
        "whole_nodes_only": known(record.whole_node),
        "qos": word(record.qos) if record.qos else None,
        "who_may": record.door.model_dump(mode="json", exclude_defaults=True) if record.door else UNKNOWN,
        "caps": [_cap(cap) for cap in record.caps],
        "policy": _policy(record.policy),
    }


def _shape(shape: NodeShape) -> dict[str, Any]:
    return without_empty({
        "nodes": shape.nodes, "cpus": known(shape.cpus), "memory": size_of(shape.memory_bytes),
        "gpus": known(shape.gpus), "gpu": word(shape.gpu_model) if shape.gpu_model else None,
        "gpu_memory": size_of(shape.gpu_memory_bytes) if shape.gpus else None, "arch": known(shape.arch),
        "features": [word(each) for each in shape.features[:20]],
    })  # fmt: skip


def _cap(cap: Cap) -> dict[str, Any]:
    return without_empty({
        "on": cap.on, "per": cap.per, "at_least" if cap.least else "at_most": cap.amount,
        "you_have": known(cap.used), "gpu": word(cap.gpu_model) if cap.gpu_model else None, "source": word(cap.source),
    })  # fmt: skip


def _policy(policy: PartitionPolicy | None) -> dict[str, Any] | None:
    return None if policy is None else policy.model_dump(mode="json", exclude_defaults=True, exclude_none=True)


@tool("read", "pool", long=True)
async def list_accounts(desk: AgentDesk, _speaker: Speaker, *, site: SiteName | None = None) -> dict[str, Any]:
    """The allocations that can pay, by site: which is the default, which QOS each may name, and what is left on it.

    Use it when a job must be charged to a certain account, or one was refused. Credits of two sites are never added up.

    Args:
        site: this site only
    """
    snapshot = await desk.service.sites()
    charges = await desk.service.charges()
    return {"sites": [_accounts(each, charges.accounts) for each in chosen_sites(snapshot, site)]}


def _accounts(reading: SiteReading, charged: tuple[AccountCharges, ...]) -> dict[str, Any]:
    limits = reading.limits
    if limits is None:
        return {"site": reading.site, "accounts": UNKNOWN, "facts_are": "none: its accounting did not say"}
    return {
        "site": reading.site,
        "facts_are": f"{age(limits.read_at, now())} old",
        "default": known(limits.default_account and word(limits.default_account)),
        "accounts": [
            without_empty({
                "account": word(each.account),
                "partition": word(each.partition) if each.partition else None,
                "qos": [word(name) for name in each.qos],
                "default_qos": word(each.default_qos) if each.default_qos else None,
                "caps": [_cap(cap) for cap in each.caps],
                "left": _balance(reading.site, each.account, charged),
            })
            for each in limits.associations
        ],
    }  # fmt: skip


def _balance(site: str, account: str, charged: tuple[AccountCharges, ...]) -> str:
    found = next((each for each in charged if each.site == site and each.account == account), None)
    if found is None or found.balance is None:
        return UNKNOWN
    return f"{found.balance:g} {found.balance_unit}, read {age(found.balance_read_at, now())} ago"


@tool("read", "pool", long=True)
async def ledger_status(
    desk: AgentDesk, _speaker: Speaker, *, days: Annotated[float, Field(gt=0, le=3660)] = 7.0
) -> dict[str, Any]:
    """What tasks were charged by site, account and unit: predicted, reserved, actual; and what the user's caps leave.

    Use it before something costly, and when a submission was refused for its charge.

    Args:
        days: how far back
    """
    found = await desk.service.charges(days)
    return {
        "since": at(found.since),
        "accounts": [_account_charges(each) for each in found.accounts],
        "caps": [_spent(each) for each in found.caps],
    }


def _account_charges(each: AccountCharges) -> dict[str, Any]:
    return without_empty({
        "site": each.site, "unit": each.unit or UNKNOWN,
        "account": word(each.account) if each.account else "the site's default",
        "attempts": each.attempts, "live": each.live, "of_unknown_charge": each.unknown,
        "predicted": known(each.predicted), "reserved": known(each.reserved), "actual": known(each.actual),
        "balance": known(each.balance), "balance_read": f"{age(each.balance_read_at, now())} ago"
        if each.balance_read_at else None,
    })  # fmt: skip


def _spent(each: Spent) -> dict[str, Any]:
    cap = each.cap
    return without_empty({
        "per": cap.scope, "site": cap.site, "account": cap.account, "allowed": cap.amount, "unit": cap.unit,
        "spent": each.spent, "reserved": each.reserved, "left": each.left, "of_unknown_charge": each.unknown,
    })  # fmt: skip


@tool("read", "drafting", long=True)
async def get_vocabulary(desk: AgentDesk, _speaker: Speaker) -> dict[str, Any]:
    """The words that a job's needs can be written with: sites, partitions, kinds of GPU, accounts, objectives, options.

    Use it when an argument was refused, or before naming a partition, a kind of GPU or an account.
    """
    snapshot = await desk.service.sites()
    return {
        "needs": {name: field.description for name, field in Needs.model_fields.items() if name != "options"},
        "options": list(RARE),
        "objectives": list(get_args(Objective)),
        "soft": list(get_args(Softenable)),
        "sites": [_words_of(each) for each in snapshot.sites],
        "states": STATES,
        "tool_groups": GROUPS,
    }


def _words_of(reading: SiteReading) -> dict[str, Any]:
    return without_empty({
        "site": reading.site,
        "partitions": [word(each.partition) for each in reading.records],
        "gpus": sorted({kind for each in reading.records for kind in kinds_of_gpu(each)}),
        "arch": sorted({shape.arch for each in reading.records for shape in each.shapes if shape.arch}),
        "features": sorted({
            word(name) for each in reading.records for shape in each.shapes for name in shape.features
        })[:40],
        "accounts": sorted({word(each.account) for each in reading.limits.associations}) if reading.limits else UNKNOWN,
        "simulated": reading.simulated or None,
        "problem": foreign(reading.problem, f"{reading.site}: what the last try gave", 200),
    })  # fmt: skip
