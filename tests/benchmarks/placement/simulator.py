"""A discrete-event simulator of one batch site: nodes x units, best-fit packing, FCFS or multifactor priority, EASY backfill.

Its state can be copied, so that *what if I had submitted here, now* is: copy, put the job in, run until it starts, with
the real future of the log. Compiled by numba; every event costs microseconds. Times are seconds from the log's start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

NEVER = 1e17
OURS = -2
_QUEUE = 16384
"""The most jobs that may wait at once."""

# places in State.f and State.i
NOW, LAST_PASS, LAST_PRIO, MIN_END, USAGE_AT, STARTED, FAIRSHARE = range(7)
NEXT, DIRTY, ARRIVALS, FREE, WAITING, RUNNING, QUEUED, RUN_TOP, SLOT_TOP, COUNTER = range(10)
# columns
SUBMIT, RUN, LIMIT, PRIO = range(4)
ID, NODES, UNITS, USER, ORDER = range(5)
START, END, LIMIT_END = range(3)
R_ID, R_UNITS, R_USER, R_FIRST, R_NODES = range(5)
INTERVAL, DEPTH, USER_DEPTH, W_AGE, W_FAIRSHARE, W_SIZE, MAX_AGE, HALF_LIFE, TOTAL, USERS = range(10)


class Log(NamedTuple):
    """The jobs of a site, by time of submission, and how its scheduler works (``par``)."""

    sub: np.ndarray
    run: np.ndarray
    lim: np.ndarray
    nodes: np.ndarray
    units: np.ndarray
    user: np.ndarray
    par: np.ndarray


class State(NamedTuple):
    """All of a site at one instant. Running jobs lie in slots; their nodes in linked lists."""

    f: np.ndarray
    i: np.ndarray
    free: np.ndarray
    count: np.ndarray
    qf: np.ndarray
    qi: np.ndarray
    rf: np.ndarray
    ri: np.ndarray
    order: np.ndarray
    run_stack: np.ndarray
    slot_node: np.ndarray
    slot_next: np.ndarray
    slot_stack: np.ndarray
    usage: np.ndarray


def empty(caps: np.ndarray, users: int) -> State:
    """An idle site with these nodes."""
    total = int(caps.sum())
    f, i = np.zeros(8), np.zeros(12, np.int64)
    f[LAST_PASS] = f[LAST_PRIO] = -1e9
    f[MIN_END] = f[STARTED] = NEVER
    f[FAIRSHARE] = 0.5
    i[ARRIVALS], i[FREE], i[RUN_TOP], i[SLOT_TOP] = 1, total, total, total
    return State(
        f=f, i=i, free=caps.astype(np.int64), count=np.bincount(caps, minlength=int(caps.max()) + 1).astype(np.int64),
        qf=np.zeros((_QUEUE, 4)), qi=np.zeros((_QUEUE, 5), np.int64),
        rf=np.zeros((total, 3)), ri=np.zeros((total, 5), np.int64), order=np.zeros(total, np.int64),
        run_stack=np.arange(total)[::-1].copy(), slot_node=np.zeros(total, np.int64),
        slot_next=np.zeros(total, np.int64), slot_stack=np.arange(total)[::-1].copy(),
        usage=np.zeros(max(users, 1)),
    )  # fmt: skip


def copy(state: State) -> State:
    """Another one, in the same state."""
    waiting = int(state.i[WAITING])
    qf, qi = np.empty_like(state.qf), np.empty_like(state.qi)
    qf[:waiting], qi[:waiting] = state.qf[:waiting], state.qi[:waiting]
    return State(
        *(each.copy() for each in state[:4]), qf, qi, *(each.copy() for each in state[6:])
    )  # fmt: skip


@njit(cache=True)
def fitting(s: State, units: int) -> int:
    """On how many nodes so many units are free."""
    number = 0
    for level in range(units, len(s.count)):
        number += s.count[level]
    return number


@njit(cache=True)
def _set_free(s: State, node: int, units: int) -> None:
    s.count[s.free[node]] -= 1
    s.i[FREE] += units - s.free[node]
    s.free[node] = units
    s.count[units] += 1


@njit(cache=True)
def _decay(s: State, log: Log) -> None:
    gone = s.f[NOW] - s.f[USAGE_AT]
    if gone > 0:
        s.usage[:] = s.usage * 0.5 ** (gone / log.par[HALF_LIFE])
        s.f[USAGE_AT] = s.f[NOW]


@njit(cache=True)
def _priority(s: State, log: Log, at: int, used: float, active: int) -> float:
    age = min((s.f[NOW] - s.qf[at, SUBMIT]) / log.par[MAX_AGE], 1.0)
    share = 1.0
    if log.par[W_FAIRSHARE] > 0:
        user = s.qi[at, USER]
        if user < 0:
            share = s.f[FAIRSHARE]
        elif used > 0:
            share = 2.0 ** (-(s.usage[user] / used) * max(active, 1) / 2)
    size = s.qi[at, NODES] * s.qi[at, UNITS] / log.par[TOTAL]
    return log.par[W_AGE] * age + log.par[W_FAIRSHARE] * share + log.par[W_SIZE] * size


@njit(cache=True)
def _before(s: State, a: int, b: int) -> bool:
    if s.qf[a, PRIO] != s.qf[b, PRIO]:
        return s.qf[a, PRIO] > s.qf[b, PRIO]
    return s.qi[a, ORDER] < s.qi[b, ORDER]


@njit(cache=True)
def prioritise(s: State, log: Log, only_new: bool) -> None:
    """Order the queue by priority, as a multifactor scheduler does every five minutes."""
    n = s.i[WAITING]
    first = 0
    if only_new:
        first = n
        while first > 0 and s.qf[first - 1, PRIO] < 0:
            first -= 1
        if first == n:
            return
    used, active = 0.0, 0
    if log.par[W_FAIRSHARE] > 0:
        _decay(s, log)
        for each in s.usage:
            used += each
            active += 1 if each > 1e-9 else 0
    for at in range(first, n):
        s.qf[at, PRIO] = _priority(s, log, at, used, active)
    if only_new:
        _insert(s, first, n)
    else:
        _sort(s, n)
        s.f[LAST_PRIO] = s.f[NOW]


@njit(cache=True)
def _insert(s: State, first: int, n: int) -> None:
    for at in range(first, n):
        k = at
        while k > 0 and _before(s, k, k - 1):
            for column in range(4):
                s.qf[k, column], s.qf[k - 1, column] = s.qf[k - 1, column], s.qf[k, column]
            for column in range(5):
                s.qi[k, column], s.qi[k - 1, column] = s.qi[k - 1, column], s.qi[k, column]
            k -= 1


@njit(cache=True)
def _sort(s: State, n: int) -> None:
    by_arrival = np.argsort(s.qi[:n, ORDER], kind="mergesort")
    prio = np.empty(n)
    for k in range(n):
        prio[k] = -s.qf[by_arrival[k], PRIO]
    final = np.argsort(prio, kind="mergesort")
    qf, qi = s.qf[:n].copy(), s.qi[:n].copy()
    for k in range(n):
        s.qf[k], s.qi[k] = qf[by_arrival[final[k]]], qi[by_arrival[final[k]]]


@njit(cache=True)
def _choose(s: State, number: int, units: int, shadow: np.ndarray, use_shadow: int, out: np.ndarray) -> bool:
    """The fullest nodes that have so many units free, into ``out``."""
    n = len(s.free)
    if number == 1:
        best = -1
        for node in range(n):
            have = s.free[node]
            if have >= units and (best < 0 or have < s.free[best]) and (not use_shadow or shadow[node] >= units):
                best = node
                if have == units:
                    break
        if best < 0:
            return False
        out[0] = best
        return True
    got = 0
    for level in range(units, len(s.count)):
        if s.count[level] == 0:
            continue
        for node in range(n):
            if s.free[node] == level and (not use_shadow or shadow[node] >= units):
                out[got] = node
                got += 1
                if got == number:
                    return True
    return False


@njit(cache=True)
def _begin(s: State, at: int, nodes: np.ndarray, record: np.ndarray) -> None:
    """The waiting job at a place gets its nodes."""
    number, units = s.qi[at, NODES], s.qi[at, UNITS]
    s.i[RUN_TOP] -= 1
    slot = s.run_stack[s.i[RUN_TOP]]
    now = s.f[NOW]
    end = now + max(1.0, min(s.qf[at, RUN], s.qf[at, LIMIT]))
    s.rf[slot, START], s.rf[slot, END], s.rf[slot, LIMIT_END] = now, end, now + s.qf[at, LIMIT]
    s.ri[slot, R_ID], s.ri[slot, R_UNITS], s.ri[slot, R_USER] = s.qi[at, ID], units, s.qi[at, USER]
    s.ri[slot, R_NODES], s.ri[slot, R_FIRST] = number, -1
    for k in range(number):
        _set_free(s, nodes[k], s.free[nodes[k]] - units)
        s.i[SLOT_TOP] -= 1
        link = s.slot_stack[s.i[SLOT_TOP]]
        s.slot_node[link], s.slot_next[link] = nodes[k], s.ri[slot, R_FIRST]
        s.ri[slot, R_FIRST] = link
    s.f[MIN_END] = min(s.f[MIN_END], end)
    if s.qi[at, ID] == OURS:
        s.f[STARTED], s.i[QUEUED] = now, 0
    elif len(record) and s.qi[at, ID] >= 0:
        record[s.qi[at, ID], 0], record[s.qi[at, ID], 1] = now, end
    k = s.i[RUNNING]
    while k > 0 and s.rf[s.order[k - 1], LIMIT_END] > s.rf[slot, LIMIT_END]:
        s.order[k] = s.order[k - 1]
        k -= 1
    s.order[k] = slot
    s.i[RUNNING] += 1


@njit(cache=True)
def _reserve(s: State, number: int, units: int, shadow: np.ndarray) -> float:
    """When the first blocked job can start by the limits of what runs; ``shadow`` becomes what is free beside it."""
    enough, at = fitting(s, units), NEVER
    for k in range(s.i[RUNNING]):
        slot = s.order[k]
        link = s.ri[slot, R_FIRST]
        while link >= 0:
            node = s.slot_node[link]
            before = shadow[node]
            shadow[node] += s.ri[slot, R_UNITS]
            if before < units <= shadow[node]:
                enough += 1
            link = s.slot_next[link]
        if enough >= number:
            at = max(s.rf[slot, LIMIT_END], s.f[NOW] + 1)
            break
    if at < NEVER:
        left = number
        for level in range(units, len(s.count)):
            for node in range(len(shadow)):
                if left and shadow[node] == level:
                    shadow[node] -= units
                    left -= 1
            if not left:
                break
    return at


@njit(cache=True)
def _pass(s: State, log: Log, record: np.ndarray) -> None:
    s.f[LAST_PASS], s.i[DIRTY] = s.f[NOW], 0
    n = s.i[WAITING]
    if n == 0:
        return
    if log.par[W_FAIRSHARE] != 0 or log.par[W_SIZE] != 0:
        prioritise(s, log, s.f[NOW] - s.f[LAST_PRIO] < 300)
    nodes, gone = np.empty(len(s.free), np.int64), np.zeros(n, np.bool_)
    at, any_ = 0, False
    while at < n and fitting(s, s.qi[at, UNITS]) >= s.qi[at, NODES]:
        if not _choose(s, s.qi[at, NODES], s.qi[at, UNITS], nodes, 0, nodes):
            break
        _begin(s, at, nodes, record)
        gone[at] = any_ = True
        at += 1
    if at < n and s.i[FREE] > 0:
        any_ = _backfill(s, log, at, nodes, gone, record) or any_
    if any_:
        kept = 0
        for k in range(n):
            if not gone[k]:
                if kept != k:
                    s.qf[kept], s.qi[kept] = s.qf[k], s.qi[k]
                kept += 1
        s.i[WAITING] = kept


@njit(cache=True)
def _backfill(s: State, log: Log, head: int, nodes: np.ndarray, gone: np.ndarray, record: np.ndarray) -> bool:
    shadow = s.free.copy()
    reserved = _reserve(s, s.qi[head, NODES], s.qi[head, UNITS], shadow)
    tested, any_ = 0, False
    per_user = np.zeros(int(log.par[USERS]) + 1, np.int64)
    for at in range(head + 1, s.i[WAITING]):
        user = s.qi[at, USER]
        per_user[user] += 1  # ours is the last place
        if per_user[user] > log.par[USER_DEPTH]:
            continue
        tested += 1
        if tested > log.par[DEPTH] or s.i[FREE] <= 0:
            break
        number, units = s.qi[at, NODES], s.qi[at, UNITS]
        if number * units > s.i[FREE] or fitting(s, units) < number:
            continue
        in_time = reserved >= NEVER or s.f[NOW] + s.qf[at, LIMIT] <= reserved
        if not _choose(s, number, units, shadow, 0 if in_time else 1, nodes):
            continue
        if not in_time:
            for k in range(number):
                shadow[nodes[k]] -= units
        _begin(s, at, nodes, record)
        gone[at] = any_ = True
    return any_


@njit(cache=True)
def _complete(s: State, log: Log) -> None:
    earliest, kept, decayed = NEVER, 0, False
    for k in range(s.i[RUNNING]):
        slot = s.order[k]
        if s.rf[slot, END] > s.f[NOW]:
            earliest = min(earliest, s.rf[slot, END])
            s.order[kept] = slot
            kept += 1
            continue
        link = s.ri[slot, R_FIRST]
        while link >= 0:
            node = s.slot_node[link]
            _set_free(s, node, s.free[node] + s.ri[slot, R_UNITS])
            s.slot_stack[s.i[SLOT_TOP]] = link
            s.i[SLOT_TOP] += 1
            link = s.slot_next[link]
        if log.par[W_FAIRSHARE] > 0 and s.ri[slot, R_USER] >= 0:
            if not decayed:
                _decay(s, log)
                decayed = True
            spent = (s.rf[slot, END] - s.rf[slot, START]) * s.ri[slot, R_UNITS] * s.ri[slot, R_NODES]
            s.usage[s.ri[slot, R_USER]] += spent
        s.run_stack[s.i[RUN_TOP]] = slot
        s.i[RUN_TOP] += 1
    s.i[RUNNING], s.f[MIN_END], s.i[DIRTY] = kept, earliest, 1


@njit(cache=True)
def _arrive(s: State, job: int, submit: float, run: float, limit: float, nodes: int, units: int, user: int) -> None:
    at = s.i[WAITING]
    if at >= len(s.qf):
        raise ValueError("more jobs wait than the simulator holds")
    s.qf[at, SUBMIT], s.qf[at, RUN], s.qf[at, LIMIT], s.qf[at, PRIO] = submit, run, limit, -1.0
    s.qi[at, ID], s.qi[at, NODES], s.qi[at, UNITS], s.qi[at, USER] = job, nodes, units, user
    s.qi[at, ORDER] = s.i[COUNTER]
    s.i[COUNTER] += 1
    s.i[WAITING], s.i[DIRTY] = at + 1, 1
    if job == OURS:
        s.i[QUEUED] = 1


@njit(cache=True)
def run_until(s: State, log: Log, until: float, stop_at_ours: int, record: np.ndarray) -> None:
    """Let time pass, to ``until`` or to the start of our job. ``record`` (jobs x 2) takes starts and ends, or is empty."""
    while True:
        coming = NEVER
        if s.i[ARRIVALS] and s.i[NEXT] < len(log.sub):
            coming = log.sub[s.i[NEXT]]
        passing = NEVER
        if s.i[DIRTY] and s.i[WAITING] > 0:
            passing = max(s.f[LAST_PASS] + log.par[INTERVAL], s.f[NOW])
        at = min(coming, s.f[MIN_END], passing)
        if at > until:
            s.f[NOW] = max(s.f[NOW], until)
            return
        s.f[NOW] = max(s.f[NOW], at)
        if s.f[MIN_END] <= s.f[NOW]:
            _complete(s, log)
        while s.i[ARRIVALS] and s.i[NEXT] < len(log.sub) and log.sub[s.i[NEXT]] <= s.f[NOW]:
            k = s.i[NEXT]
            _arrive(s, k, log.sub[k], log.run[k], log.lim[k], log.nodes[k], log.units[k], log.user[k])
            s.i[NEXT] += 1
        if s.i[DIRTY] and s.f[NOW] >= s.f[LAST_PASS] + log.par[INTERVAL]:
            _pass(s, log, record)
        if stop_at_ours and s.f[STARTED] < NEVER:
            return
        if at >= NEVER:
            return


@njit(cache=True)
def submit(s: State, log: Log, run: float, limit: float, nodes: int, units: int, fairshare: float) -> None:
    """Put our job in, now."""
    s.f[FAIRSHARE], s.f[STARTED] = fairshare, NEVER
    _arrive(s, OURS, s.f[NOW], run, limit, nodes, units, -1)
    if s.f[NOW] >= s.f[LAST_PASS] + log.par[INTERVAL]:
        _pass(s, log, np.empty((0, 2)))


@njit(cache=True)
def withdraw(s: State) -> bool:
    """Take our waiting job out again; False when it has started, or was never there."""
    n = s.i[WAITING]
    for at in range(n):
        if s.qi[at, ID] == OURS:
            for k in range(at, n - 1):
                s.qf[k], s.qi[k] = s.qf[k + 1], s.qi[k + 1]
            s.i[WAITING], s.i[QUEUED] = n - 1, 0
            return True
    return False


@njit(cache=True)
def will_run(s: State, log: Log, nodes: int, units: int, fairshare: float) -> float:
    """What ``sbatch --test-only`` would say: the earliest fit against the limits of what runs, plus all higher-priority
    waiting work at its limits, shared by the whole site."""
    multifactor = log.par[W_FAIRSHARE] != 0 or log.par[W_SIZE] != 0
    own = log.par[W_FAIRSHARE] * fairshare + log.par[W_SIZE] * nodes * units / log.par[TOTAL]
    shadow, at = s.free.copy(), s.f[NOW]
    if fitting(s, units) < nodes:
        at = _reserve(s, nodes, units, shadow)
    work = 0.0
    for k in range(s.i[WAITING]):
        if not multifactor or s.qf[k, PRIO] >= own:
            work += s.qi[k, NODES] * s.qi[k, UNITS] * s.qf[k, LIMIT]
    return at + work / log.par[TOTAL]
