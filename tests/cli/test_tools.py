"""The tools from a terminal, and the file that teaches an agent."""

from __future__ import annotations

import json
from pathlib import Path

from jupyter_diamond.agent.tools import skill
from jupyter_diamond.agent.tools.registry import all_specs
from tests.cli.conftest import Cli


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
