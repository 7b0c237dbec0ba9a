"""Whatever is wrong with a line or a cell is told in one sentence before anything is sent; nothing is left behind."""

from __future__ import annotations

import pytest

LINES = [
    ("fit --cpu 2", "%%diamond_submit has no option --cpu; did you mean --cpus?"),
    ("fit --partition gpu", "%%diamond_submit has no option --partition; write --site SITE:PARTITION."),
    ("fit --cpus 4-2", "--cpus: the range '4-2' runs backwards; write it as 2-4."),
    ("fit --cpus 0", "--cpus must be at least 1."),
    ("fit --cpus 100000", "No site can run this. here:machine: its largest node has"),
    ("fit --memory 2", "--memory: 2 what? Give the memory a unit: 2G or 2M."),
    ("fit --memory -2G", "--memory: Memory cannot be negative, got '-2G'."),
    ("fit --time 10", "--time: 10 what? Give the time a unit:"),
    ("fit --time -5m", "--time: A time cannot be negative, got '-5m'."),
    ("fit --gpus 3", "No site can run this. here:machine: it has no GPUs."),
    ("fit --env torch", "No site can run this. here:machine: it has no environment torch."),
    (
        "fit --env gone.txt",
        "--env gone.txt cannot be read here: No such file or directory. Name a file of requirements.",
    ),
    ("fit --in nowhere", "--in names `nowhere`, but there is no such variable in this notebook."),
    ("fit --in tabel", "--in names `tabel`, but there is no such variable in this notebook (did you mean `table`?)."),
    ("fit --out nothing", "--out names `nothing`, but the cell never assigns it."),
    ("fit --site nowhere", "There is no site 'nowhere'; the sites are: here."),
    (
        "fit --site here:gpu",
        "here cannot run this. here:gpu: it has no partition gpu: choose --site here:machine.",
    ),
    ("fit --site 'here; touch /tmp/owned'", "There is no site 'here; touch /tmp/owned'; the sites are: here."),
    ("fit --site $(id)", "There is no site '$(id)'; the sites are: here."),
    ("fit --account 'a;b'", "--account 'a;b' is no name that a scheduler knows"),
    ("fit --qos `id`", "--qos '`id`' is no name that a scheduler knows"),
    ("table", "`table` is a variable of this notebook (list) that the task's handle would overwrite."),
    ("class", "`class` is a word of Python's own"),
    ("données", "'données' cannot be a task's name"),
]


@pytest.mark.parametrize(("line", "sentence"), LINES, ids=[line for line, _ in LINES])
def test_a_wrong_line_is_told(nb, line, sentence):
    nb.run("table = [1]")
    said = nb.refused(line)
    assert said.startswith(sentence), said
    assert "\n" not in said


CELLS = [
    ("print(lock)", "`lock` is a lock; make it in the cell instead"),
    ("print(gen)", "`gen` is a generator or coroutine, which lives in this kernel; turn it into a list first"),
    ("print(fh)", "`fh` is an open file (/etc/hostname); open it in the cell instead"),
    ("print(box)", "`box` holds a lock; make it in the cell instead"),
    ("print(lokc)", "`lokc` is used by the cell but not defined in this notebook (did you mean `lock`?)."),
    ("import numppy", "The cell imports `numppy`, which "),
    ("!ls", "!ls on line 1 is a shell command of this kernel. Submit it with --lang bash, or use subprocess.run."),
    ("x = 1\nfiles = !ls", "!ls on line 2 is a shell command of this kernel."),
    ("%%bash\nls", "%%bash on line 1 is a magic of this kernel and cannot run at a site. Submit it with --lang bash."),
    ("%cd /tmp\nx = 1", "%cd on line 1 is a magic of this kernel and cannot run at a site. Use os.chdir."),
    ("# nothing", "The cell is empty; write the code below the %%diamond_submit line."),
    ("print(handle)", "`handle_task` is a task's handle, which lives in this kernel."),
]


@pytest.fixture(scope="module")
def odd(nb):
    nb.run(
        "import threading\nlock = threading.Lock()\ngen = (i for i in range(3))\nfh = open('/etc/hostname')\n"
        "box = {'a': [1, {'deep': lock}]}"
    )
    nb.submit("handle_task", "1")
    nb.run("handle = handle_task")
    return nb


@pytest.mark.parametrize(("cell", "sentence"), CELLS, ids=[cell for cell, _ in CELLS])
def test_a_cell_that_cannot_travel_is_told(odd, cell, sentence):
    said = odd.refused("fit", cell)
    assert said.startswith(sentence), said
    assert "\n" not in said


def test_a_syntax_error_shows_its_line(nb):
    said = nb.refused("fit", "x = 1\nfor i in range(3)\n    print(i)")
    assert said == "The cell has a syntax error on line 2: expected ':'.\n    for i in range(3)\n                     ^"


def test_all_reasons_are_told_at_once(odd):
    said = odd.refused("fit", "print(lock, gen, missing)")
    assert said.startswith("The cell cannot travel to a site, for 3 reasons:\n- ")


def test_a_gigabyte_is_refused_at_once_and_never_copied(nb):
    nb.run(
        "import time, numpy as np\nhuge = np.ones(1 << 27)\n"
        "def peak():\n    return int([l for l in open('/proc/self/status') if l.startswith('VmHWM')][0].split()[1]) >> 10"
    )
    before = nb.value("peak()")
    nb.run("started = time.process_time()")
    said = nb.refused("fit", "print(huge.sum())")
    assert nb.value("time.process_time() - started") < 1
    assert nb.value("peak()") - before < 20
    assert said == (
        "`huge` is 1.1 GB and would travel by value. Save it to a file and read the file in the cell, or raise "
        "c.DiamondLimits.value_bytes."
    )
    nb.run("del huge")
