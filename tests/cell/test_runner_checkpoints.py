"""Checkpoints in a cell: whole or not there at all, and a warning that no library can swallow."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_diamond.model.attempt_files import EXIT_CONTINUED

from .attempts import TOKEN, make_attempt
from .test_runner_end import until

IMPORT = "from jupyter_diamond import checkpoint\nimport json, os, signal, time\n"
UNTIL_WARNED = "while not checkpoint.warned(): time.sleep(0.01)\n"
SAVE = "with checkpoint.saving({name}) as folder:\n    open(folder + '/step', 'w').write('{step}')\n"


def attempt_with(tmp_path, cell, *options, **how):
    attempt = make_attempt(tmp_path, cell, **how)
    attempt.options += ["--checkpoints", str(tmp_path / "checkpoints" / TOKEN), *options]
    return attempt


def saved(tmp_path):
    return sorted(path.name for path in (tmp_path / "checkpoints" / TOKEN).iterdir())


@pytest.fixture
def bare_python():
    """An interpreter that has nothing of ours, as at a site."""
    return {"prefix": ("sh", "-c", 'python=$1; shift; exec "$python" -ES "$@"', "sh")}


@pytest.mark.parametrize("how", [
    "from jupyter_diamond import checkpoint", "import jupyter_diamond.checkpoint as checkpoint",
    "import jupyter_diamond\ncheckpoint = jupyter_diamond.checkpoint",
    "import jupyter_diamond.checkpoint\ncheckpoint = jupyter_diamond.checkpoint",
    "from jupyter_diamond.checkpoint import latest\nfrom jupyter_diamond import checkpoint",
])  # fmt: skip
@pytest.mark.parametrize("bare", [False, True], ids=["installed", "not installed"])
def test_the_names_are_there_whether_or_not_the_site_has_the_package(tmp_path, how, bare, bare_python):
    cell = f"{how}\nhere = checkpoint.folder()\nlast, near = checkpoint.latest(), checkpoint.warned()"
    attempt = attempt_with(tmp_path, cell, outputs=("here", "last", "near"))
    attempt.run(**bare_python) if bare else attempt.run()
    assert attempt.exit_code == 0, attempt.log
    assert attempt.value("here") == str(tmp_path / "checkpoints" / TOKEN)
    assert (attempt.value("last"), attempt.value("near")) == (None, False)


def test_what_else_the_package_has_is_not_there_and_that_is_told(tmp_path, bare_python):
    attempt = attempt_with(tmp_path, "import jupyter_diamond\njupyter_diamond.task('fit')").run(**bare_python)
    assert "jupyter_diamond.task is not there in a job" in attempt.error()[1]


def test_a_checkpoint_is_there_all_at_once_and_the_newest_is_found(tmp_path):
    cell = IMPORT + (
        "with checkpoint.saving() as folder:\n"
        "    open(folder + '/model', 'w').write('1')\n"
        "    during = checkpoint.latest()\n"
        "with checkpoint.saving('step-2') as folder: pass\n"
        "with checkpoint.saving('step-2') as folder: pass\n"
        "last = os.path.basename(checkpoint.latest())"
    )
    attempt = attempt_with(tmp_path, cell, outputs=("during", "last")).run()
    assert (attempt.value("during"), attempt.value("last")) == (None, "step-2.2")
    assert saved(tmp_path) == ["000001", "step-2", "step-2.2"], "none is overwritten, none is left half done"


def test_one_that_is_not_finished_is_none(tmp_path):
    cell = IMPORT + SAVE.format(name="'good'", step=1) + "with checkpoint.saving() as folder:\n    raise OSError('no')"
    attempt = attempt_with(tmp_path, cell).run()
    assert attempt.error() == ("OSError", "no")
    assert saved(tmp_path) == ["good"]


def test_a_runner_that_is_killed_while_it_saves_leaves_the_one_before(tmp_path):
    cell = IMPORT + SAVE.format(name="'good'", step=1) + "with checkpoint.saving() as folder: os.kill(os.getpid(), 9)"
    assert attempt_with(tmp_path, cell).run().exit_code == -9
    again = tmp_path / "again"
    again.mkdir()
    attempt = make_attempt(again, IMPORT + "last = checkpoint.latest()", outputs=("last",))
    attempt.options += ["--checkpoints", str(tmp_path / "checkpoints" / TOKEN)]
    assert attempt.run().value("last").endswith("/good")


def test_old_ones_go_only_where_that_is_asked_for(tmp_path):
    cell = IMPORT + "for n in range(5):\n    with checkpoint.saving(f's-{n}', keep=2): pass"
    assert attempt_with(tmp_path, cell).run().exit_code == 0
    assert saved(tmp_path) == ["s-3", "s-4"]


@pytest.mark.parametrize("name", ["'../x'", "'.x'", "'a/b'", "''", "'a b'", "'x' * 101"])
def test_a_checkpoint_cannot_leave_its_folder(tmp_path, name):
    attempt = attempt_with(tmp_path, IMPORT + f"with checkpoint.saving({name}): pass").run()
    assert attempt.error()[0] == "ValueError"
    assert saved(tmp_path) == []


def test_leaving_off_is_an_end_of_its_own(tmp_path):
    cell = IMPORT + SAVE.format(name="'s'", step=7) + "checkpoint.leave()\nanswer = 1"
    attempt = attempt_with(tmp_path, cell, outputs=("answer",)).run()
    assert attempt.exit_code == attempt.end.exit_code == EXIT_CONTINUED
    assert attempt.end.why == "it left off, to be continued from its checkpoint"
    assert (attempt.manifest.error, attempt.manifest.missing, attempt.outputs) == (None, (), [])


def test_the_runners_clock_warns_and_says_so_in_the_log(tmp_path):
    attempt = attempt_with(tmp_path, IMPORT + UNTIL_WARNED + "answer = 1", "--warn-after", "1", outputs=("answer",))
    began = time.monotonic()
    attempt.run()
    assert attempt.value("answer") == 1
    assert 1 <= time.monotonic() - began < 10
    assert "diamond: the time limit is near" in attempt.log
    assert attempt.stdout == ""


def test_the_clock_counts_from_the_start_of_the_job(tmp_path):
    attempt = attempt_with(tmp_path, IMPORT + UNTIL_WARNED, "--warn-after", "3600")
    (attempt.folder / "started.json").write_text(json.dumps({"at": time.time() - 3600}))
    assert attempt.run().exit_code == 0


def test_the_file_of_the_job_script_warns_whatever_a_library_does_with_signals(tmp_path):
    cell = (
        IMPORT + "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])\nprint('on', flush=True)\n" + UNTIL_WARNED
    )
    attempt = attempt_with(tmp_path, cell)
    process = attempt.start()
    until(lambda: "on\n" in (attempt.folder / "job.out").read_text())
    (attempt.folder / "warned").touch()
    assert process.wait(20) == 0


@pytest.mark.parametrize("name", ["USR2", "USR1", "HUP"])
def test_a_handler_of_the_cells_own_is_called(tmp_path, name):
    cell = IMPORT + (
        f"told = []\nsignal.signal(signal.SIG{name}, lambda number, frame: told.append(number))\n"
        "while not told: time.sleep(0.01)\nsame = told == [signal.SIG" + name + "]"
    )
    attempt = attempt_with(tmp_path, cell, "--warn-after", "0.5", "--warn-signal", name, outputs=("same",)).run()
    assert attempt.value("same") is True


BASH = """trap 'echo told' USR2
i=0; while [ $i -lt 600 ] && [ ! -e "$DIAMOND_WARNED" ]; do sleep 0.05; i=$((i + 1)); done
sleep 1.5
echo "$DIAMOND_SEGMENT of $DIAMOND_SEGMENTS" > "$DIAMOND_CHECKPOINTS/.new" && mv "$DIAMOND_CHECKPOINTS/.new" "$DIAMOND_CHECKPOINTS/state"
exit "$DIAMOND_CONTINUE"
"""


@pytest.mark.parametrize("listens", [True, False], ids=["with a trap", "without one"])
def test_a_bash_cell_is_told_by_file_and_where_it_listens_by_signal(tmp_path, listens):
    cell = BASH if listens else BASH.partition("\n")[2]
    options = ("--segment", "2/5", "--warn-after", "0.5")
    attempt = attempt_with(tmp_path, cell, *options, language="bash").run()
    assert attempt.exit_code == EXIT_CONTINUED, attempt.log
    assert attempt.stdout == ("told\n" if listens else "")
    assert attempt.manifest.error is None
    assert (tmp_path / "checkpoints" / TOKEN / "state").read_text() == "2 of 5\n"


def test_a_runner_in_the_background_of_a_shell_can_still_be_interrupted(tmp_path):
    cell = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)"
    attempt = attempt_with(tmp_path, cell).run(prefix=("sh", "-c", '"$@" & wait $!', "sh"))
    assert attempt.error()[0] == "KeyboardInterrupt"


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "checkpoints").write_text("in the way")
    attempt = attempt_with(tmp_path, "answer = 1").run()
    assert attempt.exit_code == 1
    assert "cannot be written" in attempt.error()[1]


# --- in the kernel ---------------------------------------------------------------------------------------------------


def test_the_same_cell_runs_through_in_a_kernel():
    code = (
        "import os\nfrom jupyter_diamond import checkpoint\n"
        "assert not checkpoint.warned() and checkpoint.latest() is None\n"
        "with checkpoint.saving() as folder: open(os.path.join(folder, 'x'), 'w').close()\n"
        "assert os.listdir(checkpoint.latest()) == ['x']\nprint(checkpoint.folder())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not Path(ran.stdout.strip()).exists(), "and it leaves nothing behind"


@pytest.mark.parametrize("before", [
    "from jupyter_diamond import checkpoint", "import jupyter_diamond as diamond", "from jupyter_diamond.checkpoint import saving",
])  # fmt: skip
def test_what_the_kernel_imported_travels_and_asks_for_nothing_at_the_site(notebook, before, tmp_path, bare_python):
    notebook.run(before)
    name = {"diamond": "diamond.checkpoint.saving"}.get(before.split()[-1], f"{before.split()[-1]}.saving")
    name = "saving" if before.endswith("saving") else name
    taken = notebook.capture(f"with {name}('x'): pass")
    assert (taken.refusals, taken.requires) == ((), ())
    attempt = attempt_with(tmp_path, taken.spec.cell, statements=taken.spec.prelude).run(**bare_python)
    assert attempt.exit_code == 0, attempt.log
    assert saved(tmp_path) == ["x"]


def test_an_import_in_the_cell_asks_for_nothing_at_the_site(notebook):
    taken = notebook.capture("from jupyter_diamond import checkpoint\nx = checkpoint.latest()")
    assert (taken.refusals, taken.requires, dict(taken.modules)) == ((), (), {})
