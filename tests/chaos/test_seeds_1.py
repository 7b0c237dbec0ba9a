"""Runs 1 to 100: a module of their own, so that another process may have the others."""

from .seeds import hold

test_every_invariant_holds_in_runs_from = hold(1, 100)
