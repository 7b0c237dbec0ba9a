"""Our reading of ``#SBATCH`` lines beside that of the real sbatch, which tells what it has understood under ``-v``.

sbatch reads its options before it looks for a controller, so none runs here: it is ended as soon as it has told.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jupyter_diamond.parsing.sbatch_script import read_script

CONF = """ClusterName=grammar
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=45911
SlurmdPort=45912
AuthType=auth/none
NodeName=localhost CPUs=2
PartitionName=p Nodes=localhost Default=YES
"""
SCRIPTS = {
    "comments and quotes": ("#SBATCH -N 2 -n4 --mem=4G # remark\n# c\n\n#SBATCH --comment=\"a b\" --account='x y' -pgpu\n"
                            "  #SBATCH -c 9\nset -e\n#SBATCH -c 7\n"),
    "a comment within a word": "#SBATCH --comment=a#b -n 2\n#SBATCH --qos=h#\n",
    "backslashes": "#SBATCH --comment=a\\#b --account=it\\'s\n#SBATCH --wckey=x\\#y\n",
    "shortened names": "#SBATCH --part gpu --jo name --ntasks-per-n 2\n",
    "clusters of letters": "#SBATCH -HW -c4 -N2-4\n#SBATCH -Jname\n",
    "no blank after SBATCH": "#SBATCH--qos=high\n#SBATCH\t--account=a\n",
    "a value on the next line": "#SBATCH --mem-per-cpu\n#SBATCH 2G\n",
    "the last counts": "#SBATCH -n 4 -n 8\n#SBATCH --ntasks=2\n",
    "values that may be left away": "#SBATCH --exclusive=user -k --nice\n#SBATCH -N1\n",
    "other marks": "##SBATCH -c 1\n# SBATCH -c 2\n#sbatch -c 3\n#SBATCH -n 2\n",
    "a part of a pair": "#SBATCH -N 1\n#SBATCH -c 3\n",
}  # fmt: skip
VERBATIM = ("comment", "account", "qos", "wckey", "partition", "job-name", "nodes", "ntasks", "cpus-per-task", "mem",
            "mem-per-cpu", "ntasks-per-node")  # fmt: skip
"""Options whose value sbatch tells as it was written."""
REFUSED = {
    "a word alone": "#SBATCH -n 2 junk\n",
    "an unknown option": "#SBATCH --frobnicate=2\n",
    "an ambiguous one": "#SBATCH --n=3\n",
    "a value where none is": "#SBATCH --hold=3\n",
    "no value where one is": "#SBATCH --ntasks\n",
    "two dashes": "#SBATCH -n 2 --\n#SBATCH -N 2\n",
    "a blank after a backslash": "#SBATCH --comment=a\\ b\n",
    "letters run on": "#SBATCHx -n 4\n",
}


def told(folder: Path, script: str) -> tuple[dict[str, str], str]:
    """The options that sbatch has understood, and what it said until then."""
    (folder / "slurm.conf").write_text(CONF)
    (folder / "job.sh").write_text(f"#!/bin/bash\n{script}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
    said: list[str] = []
    with subprocess.Popen(
        ["sbatch", "-v", str(folder / "job.sh")], env=environment | {"SLURM_CONF": str(folder / "slurm.conf")},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as sbatch:  # fmt: skip
        assert sbatch.stderr is not None
        for line in sbatch.stderr:
            said.append(line.removeprefix("sbatch: ").rstrip("\n"))
            if "end of defined options" in line:
                break
        sbatch.kill()
    pairs = (line.partition(":") for line in said if line[:1].islower() and len(line) > 20 and line[20] == ":")
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip() != "verbose"}, "\n".join(said)


@pytest.mark.slurm
@pytest.mark.parametrize("name", SCRIPTS)
def test_we_read_what_sbatch_reads(name: str, tmp_path: Path) -> None:
    theirs, said = told(tmp_path, SCRIPTS[name])
    assert theirs, said
    ours = {each.name: each.value for each in read_script(f"#!/bin/bash\n{SCRIPTS[name]}").directives}
    assert set(ours) == set(theirs), said
    assert {option: ours[option] for option in VERBATIM if option in ours} == {
        option: theirs[option] for option in VERBATIM if option in theirs
    }


@pytest.mark.slurm
@pytest.mark.parametrize("name", REFUSED)
def test_what_sbatch_refuses_is_told(name: str, tmp_path: Path) -> None:
    theirs, said = told(tmp_path, REFUSED[name])
    assert "end of defined options" not in said
    assert theirs == {}
    assert any(each.problem for each in read_script(f"#!/bin/bash\n{REFUSED[name]}").directives), said
