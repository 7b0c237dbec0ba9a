"""Names are made after what they need."""

import random

from jupyter_diamond.cell.order import Needs, in_order


def test_needs_come_first_and_rings_are_broken_where_that_does_no_harm():
    needs = {
        "f": Needs(later={"g", "K"}),
        "g": Needs(now={"f"}),
        "K": Needs(),
        "v": Needs(now={"C"}),
        "C": Needs(now={"deco"}),
        "deco": Needs(later={"K", "C"}),
        "x": Needs(now={"not captured"}),
    }
    order = in_order(needs)
    assert sorted(order) == sorted(needs)
    for before, after in [("f", "g"), ("K", "f"), ("C", "v"), ("deco", "C"), ("K", "deco")]:
        assert order.index(before) < order.index(after)


def test_any_graph_keeps_each_name_once_and_now_before_use():
    for seed in range(300):
        rng = random.Random(seed)
        names = [f"n{i}" for i in range(12)]
        needs = {
            name: Needs(
                now={other for other in names[:number] if rng.random() < 0.2},
                later={other for other in names if rng.random() < 0.2},
            )
            for number, name in enumerate(names)
        }
        order = in_order(dict(rng.sample(sorted(needs.items()), len(needs))))
        assert sorted(order) == sorted(names)
        assert order == in_order(needs)
        for name, each in needs.items():
            for other in each.now:
                assert order.index(other) < order.index(name), seed
