"""The quick shell does what a real one does with the product's own scripts."""

from __future__ import annotations

import itertools

import pytest

from jupyter_diamond.engine.stage import fence_script, peek_script, sealed, submit_script

from .shell import QuickShell, RealShell

PARTS = sealed({"bundle.tar": b"b", "runner.py": b"r", "key": b"k", "job.sh": b"echo hi\n"})
STEPS = {
    "submit 1": lambda folder: submit_script(folder, "toy-submit dmd-01234567 -", k=1),
    "submit 2": lambda folder: submit_script(folder, "toy-submit dmd-01234567 -", k=2),
    "peek 1": lambda folder: peek_script(folder, k=1),
    "fence 1": lambda folder: fence_script(folder, k=1, close=False),
    "close 1": lambda folder: fence_script(folder, k=1, close=True),
    "close 0": lambda folder: fence_script(folder, k=0, close=True),
}


class World:
    """A shell over a folder of its own, and the jobs that it handed in."""

    def __init__(self, shell, folder):
        self.shell, self.folder, self.jobs = shell, folder / "attempts" / "dmd-01234567", []

    def take(self, token, folder, ats):
        self.jobs.append((token, ats, folder == self.folder))
        return str(99 + len(self.jobs))

    def step(self, name, fault):
        script = STEPS[name](str(self.folder))
        done = self.shell.run(script, PARTS, fault=fault, take=self.take, next_id=str(100 + len(self.jobs)))
        names = sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []
        staged = {
            "bundle.tar",
            "runner.py",
            "key",
            "job.sh",
            "submit.1.out",
            "submit.1.err",
            "submit.2.out",
            "submit.2.err",
        }
        return (
            done.exit, done.stdout, done.stderr, list(self.jobs),
            [name for name in names if name not in staged],
        )  # fmt: skip

    def start(self):
        """A job starts: it makes the claim."""
        if self.folder.exists() and not (self.folder / "claim").is_symlink():
            (self.folder / "claim").symlink_to("100")


@pytest.mark.parametrize("fault", ["", "dies", "mute", "double", "refused", "down", "full"])
def test_both_do_the_same_whatever_comes_after_what(fault, tmp_path):
    stories = list(itertools.product(("submit 1", "peek 1", "fence 1", "close 1"), STEPS, ("submit 2", "close 0")))
    for number, story in enumerate(stories[:: 2 if fault else 1]):
        real = World(RealShell(tmp_path / f"{number}-bin"), tmp_path / f"{number}-real")
        quick = World(QuickShell(), tmp_path / f"{number}-quick")
        for place, name in enumerate(story):
            first = fault if place == 0 else ""
            assert quick.step(name, first) == real.step(name, first), (story, place)
            if number % 3 == 0 and place == 1:
                quick.start()
                real.start()
