"""Batch scripts as cells: nothing of a script is lost in silence."""

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.imported import Imported
from jupyter_diamond.notebook.options import parse_submit
from jupyter_diamond.parsing.sbatch_fates import FATES
from jupyter_diamond.parsing.sbatch_import import import_script
from jupyter_diamond.parsing.sbatch_script import TAKES, read_script
from jupyter_diamond.sites.gpus import is_known

NOW = datetime(2027, 1, 30, 12, 0, tzinfo=timezone.utc)
TRAINING = """\
#!/bin/bash
# the usual job
#SBATCH --job-name="train-llm"      # shown in squeue
#SBATCH -p gpuA100x4 -A bbka-delta-gpu
#SBATCH --nodes=2 --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gres=gpu:a100:4
#SBATCH --mem-per-cpu=3G
#SBATCH --time=1-12:00:00 --time-min 6:00:00
#SBATCH -o logs/%x-%j.out --mail-type=END,FAIL
#SBATCH --array=1-10%2
#SBATCH --dependency=afterok:812

module load cuda
srun python train.py --seed $SLURM_ARRAY_TASK_ID
"""


def imported(*options: str, body: str = "hostname", site: str | None = None) -> Imported:
    head = "\n".join(f"#SBATCH {each}" for each in options)
    return import_script(f"#!/bin/bash\n{head}\n{body}\n", file="job.sh", now=NOW, site=site, is_known=is_known)


def fates(found: Imported) -> dict[str, str]:
    return {each.written: each.fate for each in found.options}


def test_a_real_script_becomes_a_cell_and_every_option_has_its_fate():
    found = import_script(TRAINING, file="train.sh", now=NOW, site="delta", is_known=is_known)
    assert found.magic == (
        "%%diamond_submit train_llm --lang bash --nodes 2 --cpus 64 --gpus 4 --memory 192G --time 6h-1d12h "
        "--gpu-model a100 --site delta:gpuA100x4 --account bbka-delta-gpu"
    )
    assert [(each.line, each.written, each.fate) for each in found.options] == [
        (3, "--job-name=train-llm", "mapped"), (4, "-p gpuA100x4", "kept"), (4, "-A bbka-delta-gpu", "kept"),
        (5, "--nodes=2", "kept"), (5, "--ntasks-per-node=4", "mapped"), (6, "--cpus-per-task=16", "mapped"),
        (7, "--gres=gpu:a100:4", "mapped"), (8, "--mem-per-cpu=3G", "mapped"), (9, "--time=1-12:00:00", "mapped"),
        (9, "--time-min 6:00:00", "mapped"), (10, "-o logs/%x-%j.out", "dropped"),
        (10, "--mail-type=END,FAIL", "dropped"), (11, "--array=1-10%2", "unsupported"),
        (12, "--dependency=afterok:812", "unsupported"),
    ]  # fmt: skip
    assert found.command == "# the usual job\n\nmodule load cuda\nsrun python train.py --seed $SLURM_ARRAY_TASK_ID\n"
    assert found.notes[0].startswith("srun in the script finds one slot on a node, not 8 in all: write how many, e.g. srun "
                                     "--ntasks=8 --ntasks-per-node=4")  # fmt: skip
    assert "SLURM_ARRAY_TASK_ID, which only an array sets" in found.notes[1]


def test_the_line_that_is_written_is_read_as_the_same_envelope():
    found = import_script(TRAINING, file="train.sh", now=NOW, site="delta", is_known=is_known)
    said = parse_submit(found.magic.removeprefix("%%diamond_submit "))
    assert (said.name, said.language, said.envelope) == ("train_llm", "bash", found.envelope)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-n 8"], "--cpus 8"),
        (["-N 2 -n 8 -c 2"], "--nodes 2 --cpus 8"),
        (["-n 6 --ntasks-per-node=4"], "--nodes 2 --cpus 4"),
        (["-N 3 -n 2"], "--nodes 2"),
        (["-N2-4", "--tasks-per-node 4"], "--nodes 2-4 --cpus 4"),
        (["-c 4 --mincpus=8"], "--cpus 8"),
        (["--gpus=8 -N 2"], "--nodes 2 --gpus 4"),
        (["-G a100:3"], "--gpus 3 --gpu-model a100"),
        (["--gpus-per-node=2 --cpus-per-gpu=8 --mem-per-gpu=40G"], "--cpus 16 --gpus 2 --memory 80G"),
        (["--gpus-per-task=2 -n 4 -N 2"], "--nodes 2 --cpus 2 --gpus 4"),
        (["--gpus-per-node=2 --ntasks-per-gpu=3"], "--cpus 6 --gpus 2"),
        (["--gres=gpu:nvidia_a100_3g.20gb:1"], "--gpus 1 --gpu-model nvidia_a100_3g.20gb"),
        (["--gres=gpu", "-C 'a100|h100'"], "--gpus 1 --gpu-model 'a100|h100'"),
        (["--gres=gpu:fancy:2"], "--gpus 2"),
        (["--mem=4000"], "--memory 4000M"),
        (["--mem 2T"], "--memory 2T"),
        (["--mem=0"], ""),
        (["-t 90"], "--time 1h30m"),
        (["-t 90:30"], "--time 1h30m30s"),
        (["-t 2-12"], "--time 2d12h"),
        (["-t UNLIMITED"], ""),
        (["--time-min=1:00:00"], "--time 1h"),
        (["-q high -A my-acc"], "--account my-acc --qos high"),
        (["--deadline=2027-02-01T10:00:00"], None),
        (["--deadline=now+6hours"], "--deadline 2027-01-30T18:00:00Z"),
        (["--wait", "--test-only"], "--wait --dry-run"),
        (["-c 2", "-c 4"], "--cpus 4"),
        (["--ntasks", "4"], "--cpus 4"),
        (["--nt=4"], ""),
        (["--part x --ti=10"], ""),
    ],
)
def test_amounts(options, words):
    magic = imported(*options).magic
    if words is None:
        assert "--deadline 2027-02-01T" in magic
    else:
        assert magic == f"%%diamond_submit job --lang bash {words}".strip()


@pytest.mark.parametrize(
    ("option", "fate", "sentence"),
    [
        ("--frobnicate=1", "unsupported", "sbatch has no option --frobnicate."),
        ("--n=1", "unsupported", "--n may be --network, --nice, --no-kill, --no-requeue: write it in full."),
        ("-z", "unsupported", "sbatch has no option -z."),
        ("--hold=yes", "unsupported", "--hold takes no value."),
        ("--nodes", "unsupported", "--nodes needs a value."),
        ("-n=4", "unsupported", "'=4' cannot be read; sbatch wants for example --ntasks=4."),
        ("--mem=lots", "unsupported", "'lots' cannot be read; sbatch wants for example --mem=4G."),
        ("--gres=gpu::2", "unsupported", "'gpu::2' cannot be read; sbatch wants for example --gres=gpu:a100:2."),
        ("--gres=nvme:1", "unsupported", "Only GPUs can be asked for, not nvme:1; nothing else is in it."),
        ("--time=soon", "unsupported", "'soon' is no time that sbatch reads; --time is 30m now."),
        ("--deadline=2020-01-01T10:00", "unsupported", ("2020-01-01T10:00 is past. Write for example 18:00, +6h or "
         "2027-01-31T18:00.")),
        ("-p gpu", "dropped", ("It is of one site, and all sites are looked at without it. To keep it: import with "
         "--site SITE.")),
        ("-C haswell", "unsupported", ("Features are a site's own words; say what is meant: --gpu-model, --gpu-memory, "
         "--fabric, --arch.")),
        ("--export=FOO", "unsupported", "FOO: the values are those of where sbatch runs; set them in the cell."),
        ("--sockets-per-node=2", "dropped", ("How processes are laid out within a node is not said; give it to srun or mpirun "
         "in the cell.")),
    ],
)  # fmt: skip
def test_what_cannot_stay_says_why(option, fate, sentence):
    (found,) = imported(option).options
    assert (found.written, found.fate, found.sentence) == (option, fate, sentence)


def test_every_option_of_sbatch_has_a_fate_of_its_own():
    for name, takes in TAKES.items():
        found = imported(f"--{name}=1" if takes == "value" else f"--{name}").options
        assert len(found) == 1, name
        assert "there is no word" not in found[0].sentence.casefold(), name
    assert set(FATES) <= set(TAKES)


def test_of_two_the_last_counts_and_the_other_is_told():
    found = imported("-c 2", "--cpus-per-task=4")
    assert fates(found) == {"-c 2": "dropped", "--cpus-per-task=4": "kept"}
    assert found.options[0].sentence == "Line 3 says it again, and the last one counts."


def test_a_heterogeneous_job_keeps_its_first_part():
    found = imported("-c 2", "hetjob", "-c 8 --gres=gpu:1")
    assert found.envelope.cpus.max == 2
    assert found.options[1].sentence.startswith("Part 2 of a heterogeneous job")
    assert fates(found) == {"-c 2": "kept", "-c 8": "unsupported", "--gres=gpu:1": "unsupported"}


def test_options_after_the_first_command_and_of_other_schedulers_are_listed():
    found = imported("-c 2", body="#PBS -l nodes=3\nset -e\n#SBATCH -c 9\n")
    assert found.envelope.cpus.max == 2
    assert [(each.line, each.written, each.fate) for each in found.options[1:]] == [
        (3, "#PBS -l nodes=3", "dropped"), (5, "#SBATCH -c 9", "dropped"),
    ]  # fmt: skip
    assert found.options[2].sentence == "sbatch reads no option after the first command, which is in line 4."


def test_folder_and_variables_move_into_the_cell():
    found = imported("-D '/scratch/my run'", "--export=ALL,SEED=4")
    assert found.command == "cd '/scratch/my run' || exit 1\nexport SEED=4\nhostname\n"


def test_a_python_script_is_a_python_cell():
    text = "#!/usr/bin/env python3\n#SBATCH -c 2 -D /x\nprint(1)\n"
    found = import_script(text, file="2nd run.py", now=NOW)
    assert (found.language, found.magic) == ("python", "%%diamond_submit job_2nd_run --cpus 2")
    assert found.command == "import os; os.chdir('/x')\nprint(1)\n"


def test_windows_line_ends_and_a_missing_first_line_are_no_obstacle():
    found = import_script("#SBATCH -c 2\r\nhostname\r\n", file="job.sh", now=NOW)
    assert (found.envelope.cpus.max, found.command) == (2, "hostname\n")
    assert found.notes[0] == "Line 1 is no #!, without which sbatch refuses a script; it is read as bash."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The script is empty: it needs #!/bin/bash, #SBATCH lines and commands."),
        ("#!/bin/bash\n#SBATCH --comment='x\n", ("Line 2: the quote ' is not closed in #SBATCH --comment='x; sbatch refuses "
         "it, too.")),
        ("#!/bin/bash\n#SBATCH -N 5m\n", ("job.sh: --nodes of 5,242,880 is more than any machine has: at most 1,000,000 can be "
         "asked.")),
        ("\x7fELF\0", "This is no text file; name the script that sbatch is given."),
    ],
)  # fmt: skip
def test_what_is_no_script_or_no_job_is_refused(text, sentence):
    with pytest.raises(InvalidRequest) as refused:
        import_script(text, file="job.sh", now=NOW)
    assert refused.value.message == sentence


@given(st.lists(st.text(alphabet="abc-=# '\"\\NnGtp:019,|%\t", max_size=20), max_size=4))
def test_any_script_is_read_or_refused_and_no_option_is_lost(lines):
    text = "#!/bin/sh\n" + "".join(f"#SBATCH {line}\n" for line in lines) + "true\n"
    try:
        found = import_script(text, file="job.sh", now=NOW, is_known=is_known)
    except InvalidRequest:
        return
    assert len(found.options) == len(read_script(text).directives)
    assert parse_submit(found.magic.removeprefix("%%diamond_submit ")).envelope == found.envelope
