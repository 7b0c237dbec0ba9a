"""What may be run to look around: a table of what passes as it is, and of what is refused, each with its reason."""

import subprocess

import pytest

from jupyter_diamond.engine.allowed import NAMES, PROGRAMS, allowed, script
from jupyter_diamond.errors import InvalidRequest

FINE = [
    "squeue -u alice -t RUNNING",
    'squeue -o "%i %T %R"',
    "sinfo -p gpuA100x4 -N -l",
    "sacct -X -j 812345 --format=JobID,State,ExitCode",
    "scontrol show job 812345",
    "scontrol -o show node gpua[01-02]",
    "scontrol ping",
    "sacctmgr -nP show assoc where user=alice",
    "sacctmgr list qos",
    "sdiag",
    "ls -la ~/diamond",
    "cat /etc/os-release",
    "head -n 20 'a file with blanks'",
    "date +%s",
    "date -u",
    "hostname -f",
    "nvidia-smi -L",
    "nvidia-smi --query-gpu=name,memory.total --format=csv",
    "lfs quota -h /scratch",
    "df -h .",
]
REFUSED = [
    # a shell between
    ("ls; rm -rf x", "; would need a shell"),
    ("ls && id", "& would need a shell"),
    ("cat a | tee b", "| would need a shell"),
    ("cat a > b", "> would need a shell"),
    ("cat < a", "< would need a shell"),
    ("ls $HOME", "$ would need a shell"),
    ("ls $(id)", "$ ( ) would need a shell"),
    ("ls `id`", "` would need a shell"),
    ("ls *.py", "* would need a shell"),
    ("ls {a,b}", "{ } would need a shell"),
    ("ls a\\ b", "\\ would need a shell"),
    ("ls 'a;b'", "; would need a shell"),
    ("ls\nid", "one line"),
    ("ls\x00id", "one line"),
    ("ls \x1b[2J", "one line"),
    ("ls " + "a" * 2000, "one line"),
    ("ls 'a", "quote is not closed"),
    ("", "no command"),
    ("   ", "no command"),
    # programs that act, or that run others
    ("rm x", "'rm' is not among"),
    ("sbatch job.sh", "'sbatch' is not among"),
    ("scancel 1", "'scancel' is not among"),
    ("srun hostname", "'srun' is not among"),
    ("bash -c id", "'bash' is not among"),
    ("env rm x", "'env' is not among"),
    ("find . -delete", "'find' is not among"),
    ("sort -o a b", "'sort' is not among"),
    ("python3 -c 1", "'python3' is not among"),
    ("/bin/rm x", "'/bin/rm' is not among"),
    ("./ls", "'./ls' is not among"),
    ("PATH=. ls", "'PATH=.' is not among"),
    ("LS", "'LS' is not among"),
    # programs that can both look and act
    ("scontrol", "scontrol is allowed with"),
    ("scontrol update jobid=1 timelimit=1", "scontrol is allowed with"),
    ("scontrol -M show update jobid=1", "scontrol is allowed with"),
    ("scontrol -o requeue 1", "scontrol is allowed with"),
    ("scontrol shutdown", "scontrol is allowed with"),
    ("sacctmgr -i add account x", "sacctmgr is allowed with"),
    ("sacctmgr delete user x", "sacctmgr is allowed with"),
    ("date -s 2020-01-01", "date -s"),
    ("date --set=2020-01-01", "date --set"),
    ("hostname evil", "hostname evil"),
    ("hostname -F f", "hostname -F"),
    ("nvidia-smi -pm 1", "nvidia-smi -pm"),
    ("nvidia-smi -q -f out", "nvidia-smi -f"),
    ("nvidia-smi --gpu-reset", "nvidia-smi --gpu-reset"),
    ("sdiag -r", "sdiag -r"),
    ("sdiag --reset", "sdiag --reset"),
    ("squeue -i 5", "squeue -i"),
    ("squeue -i5", "squeue -i5"),
    ("lfs setstripe x", "lfs is allowed with"),
]


@pytest.mark.parametrize("command", FINE)
def test_looking_around_is_allowed(command):
    words = allowed(command)
    assert words[0] in PROGRAMS
    assert len(words) > 1 or command == words[0]


@pytest.mark.parametrize(("command", "why"), REFUSED, ids=[repr(command)[:40] for command, _ in REFUSED])
def test_everything_else_is_refused_with_its_reason(command, why):
    with pytest.raises(InvalidRequest) as refused:
        allowed(command)
    assert why in refused.value.message


def test_a_refused_program_is_told_all_that_may_be_run():
    with pytest.raises(InvalidRequest) as refused:
        allowed("rm -rf /")
    assert NAMES in refused.value.message


@pytest.mark.parametrize(
    "word", ["a b", "'", '"', "#x", "~", "~/a", "~user", "=x", "[ab]", "a,b", "%i", "ü", "-n", "^"]
)
def test_a_word_arrives_as_it_is(word, tmp_path):
    """What no check sees must still be no more than a word: printed here by printf in the place of ls."""
    text = script(("printf", "%s\\n", word, "next"))
    done = subprocess.run(
        ["bash", "-c", text], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )  # fmt: skip
    home = {"~": str(tmp_path), "~/a": f"{tmp_path}/a"}
    assert done.stdout == f"{home.get(word, word)}\nnext\n"
