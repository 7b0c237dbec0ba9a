"""What goes over the wire comes back as it was: the kernel reads the server's values with the same models."""

from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.snapshot import NO_LIMIT, Record, SiteReading, Snapshot
from jupyter_diamond.model.states import Outcome, Phase, State

NOW = datetime(2026, 3, 1, 10, 22, 7, tzinfo=timezone.utc)


@pytest.mark.parametrize("cap", [NO_LIMIT, None, 3600])
def test_no_limit_unknown_and_a_number_stay_three_things(cap):
    record = Record(site="delta", partition="cpu", read_at=NOW, walltime_cap_s=cap)
    snapshot = Snapshot(
        id=1, taken_at=NOW, sites=(SiteReading(site="delta", transport="local", scheduler="slurm", records=(record,)),)
    )
    back = Snapshot.model_validate_json(snapshot.model_dump_json())
    assert back == snapshot
    assert back.sites[0].records[0].walltime_cap_s == cap


def test_every_state_has_one_phase_and_only_ends_have_outcomes():
    for state in State:
        assert (state.outcome is not None) is state.terminal
        assert (state.phase is Phase.ENDED) is state.terminal
    assert {state.outcome for state in State if state.terminal} == set(Outcome)
    assert State.UNKNOWN.phase is Phase.UNKNOWN
    assert State.COMPLETING.phase is Phase.RUNNING
