"""Which mover brings data where, and what is said where none can."""

from __future__ import annotations

import pytest

from jupyter_diamond.data.choice import Reach, choose
from jupyter_diamond.errors import DataProblem

MB = 1 << 20
HERE = Reach("this machine", "home", "here", rsync=True)
LAB = Reach("here", "home", "here", rsync=True)
DELTA = Reach("delta", "site:delta", "ssh", rsync=True)
BARE = Reach("bare", "site:bare", "ssh", rsync=False)
ANVIL = Reach("anvil", "site:anvil", "ssh", rsync=True, collection=True)
BRIDGES = Reach("bridges", "site:bridges", "ssh", rsync=True, collection=True)
FAR = Reach("far", "site:far", "far")
FARGO = Reach("fargo", "site:fargo", "far", collection=True)
CLOUD = Reach("globus://x", "globus://x", None, collection=True)
NOWHERE = Reach("globus://y", "globus://y", None)


@pytest.mark.parametrize(("source", "destination", "size", "kind"), [
    (HERE, LAB, None, "copy"),
    (DELTA, DELTA, 1 << 40, "copy"),
    (FARGO, FARGO, 1 << 40, "copy"),
    (HERE, DELTA, 5 * MB, "rsync"),
    (DELTA, HERE, None, "rsync"),
    (HERE, BARE, 5 * MB, "stream"),
    (DELTA, BARE, 5 * MB, "stream"),
    (DELTA, ANVIL, 5 * MB, "stream"),
    (ANVIL, BRIDGES, 5 * MB, "globus"),
    (ANVIL, BRIDGES, None, "globus"),
    (ANVIL, BRIDGES, 1 * MB, "stream"),
    (CLOUD, ANVIL, 10, "globus"),
    (CLOUD, FARGO, 10, "globus"),
    (FARGO, ANVIL, 3 * MB, "globus"),
    (FARGO, ANVIL, 10, "chunks"),
    (FAR, HERE, 2 * MB, "chunks"),
    (HERE, FAR, 0, "chunks"),
])  # fmt: skip
def test_the_rule_chooses(source, destination, size, kind):
    chosen, why = choose(source, destination, total_bytes=size, small_bytes=2 * MB)
    assert chosen == kind
    assert why.endswith(".")


@pytest.mark.parametrize(("source", "destination", "size", "said"), [
    (FAR, HERE, 2 * MB + 1, "No Globus collection is known for far and this machine"),
    (FAR, ANVIL, None, "nobody can say how much it is"),
    (CLOUD, HERE, 5, "no Globus collection is known for this machine"),
    (NOWHERE, ANVIL, 5, "globus://y has neither a shell nor a collection"),
])  # fmt: skip
def test_where_there_is_no_way_it_is_said_what_is_missing(source, destination, size, said):
    with pytest.raises(DataProblem, match=said) as caught:
        choose(source, destination, total_bytes=size, small_bytes=2 * MB)
    assert caught.value.kind == "no_way"
    assert "collections" in caught.value.advice
