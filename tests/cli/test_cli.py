"""Every verb against a real server whose one site is this machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_diamond.agent.tools import skill
from jupyter_diamond.agent.tools.registry import all_specs
from jupyter_diamond.cli.grammar import VERBS, parser
from jupyter_diamond.cli.main import WITH_SERVER, WITHOUT_SERVER, act
from tests.cli.conftest import Cli
from tests.live.jupyter import JupyterServer
from tests.live.model_stub import ModelStub, call

CANARY = "sk-canary-of-the-command-line"

LOOKS = [
    ("status",),
    ("endpoints",),
    ("resources",),
    ("idle",),
    ("history", "here"),
    ("forecast",),
    ("charges",),
    ("tasks",),
    ("events",),
    ("env", "here"),
    ("doctor",),
]


@pytest.fixture(scope="module")
def stub():
    with ModelStub() as stub:
        yield stub


@pytest.fixture(scope="module")
def server(tmp_path_factory, stub):
    """With a language model, which only drafts ask."""
    model = {"JUPYTER_DIAMOND_MODEL": "local:stub", "JUPYTER_DIAMOND_MODEL_URL": stub.url}
    env = {**model, "JUPYTER_DIAMOND_MODEL_KEY": CANARY}
    with JupyterServer(tmp_path_factory.mktemp("cli"), env=env) as started:
        yield started


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_each_look_speaks_to_people_and_to_programs(cli, words):
    people, programs = cli(*words), cli(*words, "--json")
    assert (people.status, programs.status) == (0, 0), (people, programs)
    assert people.out.strip()
    assert programs.json is not None
    assert people.err == programs.err == ""


def test_the_status_is_that_of_the_server_which_advances_work(cli, server):
    said = cli.json("status")
    assert said["server"] == server.url
    assert said["status"]["advances_work"] is True
    assert [site["site"] for site in said["sites"]["sites"]] == ["here"]


def test_idle_finds_this_machine_and_says_when_nothing_is(cli):
    cpus = len(os.sched_getaffinity(0))
    found = cli.json("idle", "--cpus", "1", "--memory", "64M")
    assert [(place["site"], place["cpus_free"]) for place in found["places"]] == [("here", cpus)]
    nothing = cli("idle", "--gpus", "1000")
    assert (nothing.status, "Nothing is free" in nothing.out) == (1, True)
    wrong = cli("idle", "--memory", "64")
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err.startswith("--memory")


def test_the_past_of_this_machine_is_kept(cli):
    cli.json("resources", "--refresh")
    past = cli.json("history", "here", "--hours", "1")
    (series,) = past["series"]
    assert (series["partition"], series["unit"]) == ("machine", "CPU")
    assert set(series["total"]) == {len(os.sched_getaffinity(0))}
    said = cli("history", "here", "--hours", "1").out
    assert said.splitlines()[0].startswith("partition  free")
    assert any(block in said for block in "▁▂▃▄▅▆▇█")
    assert cli("history", "nowhere").status == 4
    assert cli("history", "here", "--hours", "0").status == 2


def test_forecasts_are_compared_with_starts(cli):
    assert "No task has started" in cli("forecast").out
    assert cli.json("smoke", "here", "--yes")["verdict"]["answer"] == "ok"
    (here,) = cli.json("forecast")["sites"]
    assert (here["site"], here["n"], here["methods"], here["queue"]) == ("here", 1, {"fits_now": 1}, "none")
    assert here["error_s"] < 30
    assert cli("forecast").out.splitlines()[1].startswith("here ")


def test_the_smoke_job_runs_for_real_and_is_verified(cli, tmp_path):
    refused = cli("smoke", "here")
    assert (refused.status, "--yes" in refused.err) == (2, True), "nobody is there to say yes"
    said = cli.json("smoke", "here", "--yes")
    assert said["verdict"]["answer"] == "ok", said
    assert [row["state"] for row in said["accounting"]["rows"]] == ["completed"]
    task = cli.json("task", "smoke_here")
    assert (task["state"], task["attempts"][0]["size"]["walltime_s"]) == ("completed", 300)
    decision = cli.json("explain", "smoke_here")
    assert decision["candidates"][decision["chosen"]]["site"] == "here"
    assert " ".join(cli("explain", "smoke_here").out.split()).startswith(decision["sentence"])
    assert cli("logs", "smoke_here").out.splitlines()[0] == platform.node()
    assert cli("logs", "smoke_here", "--follow", "--tail", "1").status == 0
    assert task["id"] in cli("tasks").out
    assert "attempt.terminal" in cli("events", "smoke_here").out
    story = cli("task", "smoke_here").out
    assert re.search(r"^attempt 1  here\S*  job \S+ .* succeeded", story, re.MULTILINE), story
    assert re.search(r"^\d\d:\d\d:\d\d  it ended: succeeded$", story, re.MULTILINE), story
    for verb in ("replan", "hold"):
        assert (cli(verb, "smoke_here").status, "has not started" in cli(verb, "smoke_here").err) == (1, True)
    judged = cli("verdict", "smoke_here")
    assert (judged.status, judged.out.count("  yes  ")) == (0, 6), judged
    assert cli.json("verdict", "smoke_here")["correct"] == "yes"
    assert cli.json("manifest", "smoke_here")["ended"]["state"] == "completed"
    assert cli("manifest", "smoke_here").out.startswith("✓ smoke_here succeeded, exit code 0")
    assert "job.out" in cli("files", "smoke_here").out
    (fetched,) = cli.json("fetch", "smoke_here", "job.out", "--to", str(tmp_path))["files"]
    assert Path(fetched).read_text().splitlines()[0] == platform.node()
    none = cli("fetch", "smoke_here", "*.pt")
    assert (none.status, "it kept none" in none.err) == (4, True)
    assert "README.md says what it is" in cli("export", "smoke_here", str(tmp_path / "crate"), "--copy", "1M").out
    assert (tmp_path / "crate" / "ro-crate-metadata.json").is_file()
    assert "goes on" in cli("release", "smoke_here").out
    assert "has ended already" in cli("cancel", "smoke_here").out


def test_a_look_around_passes_on_what_was_printed(cli, tmp_path):
    (tmp_path / "notes").write_text("line\n")
    said = cli("exec", "here", f"cat {tmp_path / 'notes'}")
    assert (said.status, said.out, said.err) == (0, "line\n", "")
    assert cli("exec", "here", f"cat {tmp_path / 'gone'}").status == 1
    refused = cli("exec", "here", "rm -rf x")
    assert (refused.status, refused.out) == (2, "")
    assert "squeue" in refused.err


def test_a_file_is_put_and_not_put_over_another(cli, tmp_path):
    local = tmp_path / "train.py"
    local.write_bytes(os.urandom(1000))
    put = cli.json("put-file", "here", str(local))
    assert hashlib.sha256(Path(put["path"]).read_bytes()).digest() == hashlib.sha256(local.read_bytes()).digest()
    again = cli("put-file", "here", str(local))
    assert (again.status, "--replace" in again.err) == (1, True)
    assert cli("put-file", "here", str(local), "--to", "../x").status == 2
    assert "cannot be read" in cli("put-file", "here", str(tmp_path / "gone")).err
    local.write_bytes(b"x" * 2_000_001)
    assert "2,000,001 bytes" in cli("put-file", "here", str(local), "--to", "large").err


def test_preflight_and_doctor_find_nothing_missing_here(cli):
    assert {check["answer"] for check in cli.json("preflight")[0]["checks"]} == {"ok"}
    said = cli.json("doctor")
    answers = {check["name"]: check["answer"] for check in said["checks"]}
    assert answers == {
        "python": "ok", "jupyterlab": "ok", "server extension": "ok", "labextension": "ok", "store": "ok",
        "catalogue": "warn", "server": "ok",
    }  # fmt: skip
    assert [done["site"] for done in said["sites"]] == ["here"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("task", "nothing"), 4, "There is no task"),
        (("explain", "nothing"), 4, "There is no task"),
        (("logs", "nothing"), 4, "There is no task"),
        (("resources", "--site", "mars"), 4, "There is no site 'mars'; the sites are: here."),
        (("env", "mars"), 4, "There is no site 'mars'"),
        (("nonsense",), 2, "invalid choice"),
        ((), 2, "VERB"),
    ],
)
def test_each_failure_has_its_status_and_one_sentence(cli, words, status, said):
    done = cli(*words)
    assert (done.status, done.out) == (status, "")
    assert said in done.err


def test_a_failure_is_json_too(cli):
    done = cli("task", "nothing", "--json")
    assert (done.status, done.json["code"], done.err) == (4, "not_found", "")


def test_without_a_server_it_says_how_to_start_one(alone):
    done = alone("status")
    assert (done.status, done.out) == (3, "")
    assert "jupyter lab" in done.err


def test_of_several_servers_the_one_that_advances_work_is_asked(server, tmp_path):
    """Two servers over one store: the second only reads."""
    (tmp_path / "second").mkdir()
    shared = {
        "JUPYTER_RUNTIME_DIR": server.env["JUPYTER_RUNTIME_DIR"],
        "JUPYTER_DIAMOND_STORE": server.env["JUPYTER_DIAMOND_STORE"],
    }
    with JupyterServer(tmp_path / "second", env=shared) as second:
        assert second.api("GET", "status")["advances_work"] is False
        assert Cli(second.env).json("status")["server"] == server.url
        named = Cli({**second.env, "DIAMOND_SERVER_URL": second.url, "DIAMOND_SERVER_TOKEN": second.token})
        assert named.json("status")["server"] == second.url


def test_a_server_that_has_died_is_passed_over(server, cli):
    runtime = Path(server.env["JUPYTER_RUNTIME_DIR"])
    (kept,) = [path for path in runtime.glob("jpserver-*.json") if "jpserver-1.json" not in path.name]
    dead = runtime / "jpserver-1.json"
    dead.write_text(kept.read_text().replace(str(server.port), "1"))
    (runtime / "jpserver-2.json").write_text("{half")
    try:
        assert cli.json("status")["server"] == server.url
    finally:
        dead.unlink()
        (runtime / "jpserver-2.json").unlink()


def test_jupyter_finds_it_as_a_subcommand(server, tmp_path):
    """`jupyter diamond` runs the `jupyter-diamond` of its PATH."""
    script = tmp_path / "jupyter-diamond"
    script.write_text(f"#!{sys.executable}\nfrom jupyter_diamond.cli import main\nmain()\n")
    script.chmod(0o755)
    env = {**server.env, "PATH": f"{tmp_path}{os.pathsep}{server.env['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-m", "jupyter", "diamond", "status", "--json"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert server.url in done.stdout


def test_every_verb_has_its_help_with_the_exit_statuses(capsys):
    for verb in VERBS:
        with pytest.raises(SystemExit) as left:
            parser().parse_args([verb.name, "--help"])
        assert left.value.code == 0
        assert "Exit status: 0 done" in capsys.readouterr().out


def test_each_verb_has_an_act_of_its_own():
    places = WITHOUT_SERVER | WITH_SERVER
    assert set(places) == {verb.name for verb in VERBS}
    assert len({act(place) for place in places.values()}) == len(places)


def test_a_verb_that_asks_the_server_loads_neither_its_engine_nor_its_store(alone):
    line = "import sys; from jupyter_diamond.cli.main import run; run(['status']); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", line], env=alone.env, capture_output=True, text=True, check=True)
    loaded = set(said.stdout.split())
    assert "jupyter_diamond.notebook.client" in loaded
    assert loaded.isdisjoint({"jupyter_diamond.service", "jupyter_diamond.store", "sqlalchemy", "numpy"})


def at_a_terminal(cli: Cli, answer: str, *words: str) -> str:
    """What a person is told who answers there."""
    master, slave = pty.openpty()
    try:
        os.write(master, f"{answer}\n".encode())
        command = [sys.executable, "-c", "from jupyter_diamond.cli import main; main()", *words]
        done = subprocess.run(
            command, env=cli.env, stdin=slave, capture_output=True, text=True, timeout=120, check=False
        )
    finally:
        os.close(master)
        os.close(slave)
    assert "[y/N]" in done.stderr
    return done.stdout


def test_an_agent_proposes_and_the_user_says_yes_not_now_and_no_more(cli):
    ask = ("tool", "submit_task", "name=proposed", "source=answer = 42", "time=5m", "--as", "Coder")
    first = cli.json(*ask)["content"]
    proposal = first["needs_approval"]["proposal"]
    listed = cli("proposals").out.splitlines()
    assert listed[0].split()[:2] == ["proposal", "what"]
    assert f"{proposal}  Run proposed at here:machine: 1 core, for at most 5 min  Coder  now" in listed[1]
    shown = cli("proposals", proposal)
    assert "waits for your word until" in shown.out
    assert "#!/bin/bash" in shown.out
    for words in (("approve", proposal), ("budget", "set", "--jobs", "1"), ("agents", "on")):
        unasked = cli(*words)
        assert (unasked.status, "asks a person first" in unasked.err) == (2, True)
    assert "Nothing was approved." in at_a_terminal(cli, "n", "approve", proposal)
    assert "Done: jupyter diamond task t" in at_a_terminal(cli, "y", "approve", proposal)
    done = cli.json("proposals", proposal)
    assert done["standing"] == "done"
    assert cli.json("task", done["task"])["by"] == "Coder"
    assert cli("proposals").out == "No proposal waits for your word.\n"
    assert cli.json("proposals", "--all")["proposals"][0]["id"] == proposal

    second = cli.json("tool", "submit_task", "name=other", "source=answer = 43", "--as", "Coder")["content"]
    denied = cli("deny", second["needs_approval"]["proposal"], "--reason", "not now")
    assert "It is not done." in denied.out
    refused = cli("approve", second["needs_approval"]["proposal"])
    assert (refused.status, "said not now: not now" in refused.err) == (1, True)

    assert cli("budgets").out == "Agents ask before everything: no standing budget is set.\n"
    at_a_terminal(cli, "y", "budget", "set", "--jobs", "1", "--agent", "Coder", "--per-day", "--for", "8h")
    (budget,) = cli.json("budgets")["budgets"]
    covered = cli.json("tool", "submit_task", "name=third", "source=answer = 44", "--as", "Coder")
    assert "needs_approval" not in covered["content"], covered
    row = cli("budgets").out.splitlines()[1]
    assert row.startswith(f"{budget['id']}  nothing that costs, 1 job  1 job  for Coder, in any 24 hours  ")
    assert "It allows nothing more" in cli("budget", "revoke", budget["id"]).out
    assert cli("budget", "revoke").status == 2

    assert "Agents are switched off" in cli("agents", "off").out
    off = cli("tool", "submit_task", "name=fourth", "source=answer = 45", "--as", "Coder")
    assert (off.status, "policy_blocked" in off.out) == (1, True)
    assert "Agents may propose" in at_a_terminal(cli, "y", "agents", "on")

    lines = [json.loads(line) for line in cli("audit").out.splitlines()]
    assert [line["what"] for line in lines if line["subject"] == f"proposal:{proposal}"] == [
        "proposal.made", "proposal.approved", "act.begun", "act.done",
    ]  # fmt: skip
    assert cli("audit", "--verify").out.startswith(f"{len(lines)} lines, each follows from the one before.")


def test_a_draft_of_a_script_a_notebook_and_stdin(cli, tmp_path):
    code = "from joblib import Parallel\nParallel(n_jobs=1)(work)\n"
    script, notebook = tmp_path / "train.py", tmp_path / "train.ipynb"
    script.write_text(code)
    notebook.write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": code}, {"cell_type": "markdown", "source": "x"}]})
    )
    said = cli("draft", str(script), "-d", "at most 2 hours", "--memory", "64M", "--no-model")
    assert (said.status, "%%diamond_submit NAME --cpus 1 --memory 64M --time 2h" in said.out) == (0, True), said
    assert "line 2: Parallel(n_jobs=1)(work)" in said.out
    assert cli.json("draft", str(notebook), "--no-model")["options"] == {"cpus": "1"}
    refused = cli("draft", "-", "--no-model", stdin="import torch\nmodel.cuda()\n")
    assert (refused.status, "No site can run this" in refused.out) == (1, True), refused
    assert cli("draft", str(tmp_path / "none.py")).status == 2


def test_a_draft_with_a_model_and_with_agents_switched_off(cli, stub, server, tmp_path):
    script = tmp_path / "work.py"
    script.write_text("print('hello')\n")
    stub.play([call("final_result", {"time": "10m", "rationale": "It only prints.", "confidence": 0.7})])
    found = cli.json("draft", str(script))
    assert (found["source"], found["model"], found["options"]) == ("model", "local:stub", {"time": "10m"}), found
    assert stub.asked[0].headers["authorization"] == f"Bearer {CANARY}"
    assert "print('hello')" in stub.prompts
    assert CANARY not in stub.prompts + json.dumps(found) + server.log.read_text(errors="replace")
    assert cli.json("charges")["models"]["calls"] == 1
    assert "Language model: 1 request, " in cli("charges").out
    assert cli("agents", "off").status == 0
    off = cli("draft", str(script))
    assert "switched off" in off.out
    assert "The draft of our own rules is shown instead." in off.out
    assert "Agents may propose" in at_a_terminal(cli, "y", "agents", "on")
    assert stub.calls == 1


# ---- the tools of agents, and the file that teaches them


def test_tools_are_listed_and_described(cli: Cli):
    listed = cli("tools").out
    for spec in all_specs():
        assert spec.name in listed
    assert {each["name"] for each in cli.json("tools")["tools"]} == {spec.name for spec in all_specs()}
    one = cli("tools", "find_idle").out
    assert "find_idle (pool, looks)" in one
    assert "gpu_memory" in one
    nothing = cli("tools", "nope")
    assert (nothing.status, "jupyter diamond tools lists them" in nothing.err) == (2, True)


def test_a_tool_is_called_and_what_changes_something_waits_for_a_word(cli: Cli, tmp_path: Path):
    source = tmp_path / "fit.py"
    source.write_text("x = 1\n")
    looked = cli("tool", "find_idle", "cpus=1", "time=10m")
    assert (looked.status, json.loads(looked.out)["places_in_all"]) == (0, 1)
    asked = cli("tool", "submit_task", "name=cli_fit", f"source=@{source}", "time=5m", "--as", "claude", "--json")
    proposal = asked.json["content"]["needs_approval"]["proposal"]
    assert cli("tool", "get_proposal", f"proposal={proposal}").json["standing"] == "waiting"
    assert not any(task["name"] == "cli_fit" for task in cli.json("tasks")["tasks"])
    options = cli("tool", "plan_placement", 'options={"objective": "earliest_start"}')
    assert options.json["objective"] == "earliest_start"


def test_what_is_wrong_is_said_with_what_to_write(cli: Cli):
    for words, said in (
        (("find_idle", "gpus"), "is no argument; write NAME=VALUE"),
        (("find_idle", "options={1"), "is no JSON"),
        (("submit_task", "source=@/no/such/file"), "cannot be read"),
    ):
        got = cli("tool", *words)
        assert (got.status, said in got.err) == (2, True), got
    got = cli("tool", "find_idle", "gpu=1")
    assert (got.status, "did you mean `gpus`?" in got.json["message"]) == (1, True)


def test_the_skill_is_printed_and_written_without_a_server(alone: Cli, tmp_path: Path):
    assert alone("skill").out == skill.skill() + "\n"
    done = alone("skill", "--write", str(tmp_path / "skills"))
    assert done.status == 0
    folder = tmp_path / "skills" / "jupyter-diamond"
    assert (folder / "SKILL.md").read_text() == skill.skill()
    assert "\n## submit_task\n" in (folder / "reference.md").read_text()
