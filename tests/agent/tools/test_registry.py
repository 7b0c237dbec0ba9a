"""Each tool is defined once, and every face shows all of them, with nothing that is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from jupyter_diamond.agent.tools import skill
from jupyter_diamond.agent.tools.registry import GROUPS, Toolbox, all_specs
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.server.handlers import OPENAPI

SPECS = {spec.name: spec for spec in all_specs()}
EACH = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
NINE = {
    "list_resources", "find_idle", "draft_envelope", "submit_task", "get_task", "wait_task", "cancel_task",
    "replan_task", "recent_events",
}  # fmt: skip


def test_the_nine_names_are_kept_and_seen_at_first():
    assert {name for name, spec in SPECS.items() if spec.first} >= NINE


def test_a_model_sees_few_tools_at_first_and_in_few_words():
    first = [spec for spec in SPECS.values() if spec.first]
    assert len(first) <= 15
    assert sum(len(json.dumps(spec.parameters)) + len(spec.description) for spec in first) < 18_000


def test_no_tool_approves_or_sets_a_budget_or_runs_a_shell():
    assert [
        name for name in SPECS if any(word in name for word in ("approve", "budget", "deny", "switch", "shell"))
    ] == []


@EACH
def test_every_tool_says_when_and_every_parameter_what(spec):
    assert spec.group in GROUPS
    assert spec.description.count("\n\n") >= 1 or len(spec.description) > 60
    told = {name: schema.get("description") for name, schema in spec.parameters["properties"].items()}
    assert [name for name, text in told.items() if not text] == []
    assert spec.parameters["additionalProperties"] is False


@EACH
def test_numbers_have_bounds(spec):
    for name, schema in spec.parameters["properties"].items():
        if schema.get("type") in ("integer", "number") and name not in ("after", "cursor", "offset"):
            assert "maximum" in schema, name


def test_what_changes_something_is_no_look():
    changing = {
        "submit_task", "submit_group", "cancel_task", "replan_task", "hold_task", "release_task", "put_file",
        "run_readonly", "smoke_test", "register_dataset", "transfer_data", "cancel_transfer",
    }  # fmt: skip
    assert {name for name, spec in SPECS.items() if spec.kind != "read"} >= changing
    assert {name for name, spec in SPECS.items() if spec.destroys} == {"cancel_task", "put_file", "cancel_transfer"}


def test_the_groups_open_tools_and_others_are_refused():
    box = Toolbox(None)
    first = {spec.name for spec in box.specs()}
    assert first == {name for name, spec in SPECS.items() if spec.first}
    assert {spec.name for spec in box.specs(["site"])} - first == {
        name for name, spec in SPECS.items() if spec.group == "site" and not spec.first
    }
    assert {spec.name for spec in box.specs(everything=True)} == set(SPECS)
    with pytest.raises(InvalidRequest, match=r"no group of tools 'nope'; the groups are: pool, tasks"):
        box.specs(["nope"])


# ---- the faces


def test_skill_md_is_current():
    """Make it new with: python -m jupyter_diamond.agent.tools.skill"""
    assert skill.current(skill.skill()) == skill.skill()


def test_skill_md_names_every_tool_and_no_other():
    text = skill.skill()
    generated = text.partition(skill.BEGIN)[2].partition(skill.END)[0]
    rows = {line.split("`")[1] for line in generated.splitlines() if line.startswith("| `")}
    assert rows == set(SPECS)
    by_hand = text.partition(skill.BEGIN)[0]
    taught = {word.split("(")[0] for word in by_hand.split("`")[1::2]}
    assert {word for word in taught if word.endswith(("_task", "_group", "_log")) and word.islower()} <= set(SPECS)


def test_the_reference_has_every_parameter():
    text = skill.reference()
    for name, spec in SPECS.items():
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        assert [each for each in spec.parameters["properties"] if f"| `{each}`" not in section] == []


def test_the_rest_description_has_the_arguments_of_every_tool():
    schemas = YAML(typ="safe").load(Path(OPENAPI))["components"]["schemas"]
    assert {name for name in schemas if name.startswith("arguments_of_")} == {f"arguments_of_{name}" for name in SPECS}


def test_mcp_shows_every_tool_with_what_it_does():
    from jupyter_diamond.mcp import _as_tool

    shown = {name: _as_tool(spec) for name, spec in SPECS.items()}
    assert {name for name, tool in shown.items() if tool.annotations.readOnlyHint} == {
        name for name, spec in SPECS.items() if spec.kind == "read"
    }
    assert shown["cancel_task"].annotations.destructiveHint
    assert shown["find_idle"].inputSchema["properties"]["gpus"]["type"] == "string"


def test_mcp_lists_the_groups_that_it_is_told(capsys):
    from jupyter_diamond import mcp

    assert mcp._groups("tasks, site") == ("tasks", "site")
    assert set(mcp._GROUPS) == set(GROUPS)
    with pytest.raises(SystemExit):
        mcp.main(["--groups", "nope"])
    assert "there is no group 'nope'; there are: pool, tasks" in capsys.readouterr().err


def test_the_open_tools_look_only_and_are_prefixed():
    from jupyter_diamond.agent.tools import served

    functions = {name: getattr(served, f"diamond_{name}") for name in ("list_resources", "plan_placement")}
    assert {each.__name__ for each in functions.values()} == {"diamond_list_resources", "diamond_plan_placement"}
    for name, spec in SPECS.items():
        if spec.kind != "read" or name in ("register_continuation", "ack_events"):
            with pytest.raises(AttributeError):
                getattr(served, f"diamond_{name}")
    assert served.NOBODY.guest
