"""The README names everything that a user can type or set, and nothing that is not there."""

import re
import shlex
from pathlib import Path

import pytest

from jupyter_diamond import settings
from jupyter_diamond.cli.grammar import VERBS, parser
from jupyter_diamond.model.site import Site
from jupyter_diamond.notebook.magics import HELP, parsers
from jupyter_diamond.notebook.options import submit_parser
from jupyter_diamond.sites.catalogue import load_catalogue

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRAITS = {
    f"c.{cls.__name__}.{name}": trait
    for cls in (
        settings.DiamondStore,
        settings.DiamondSites,
        settings.DiamondEngine,
        settings.DiamondLimits,
        settings.DiamondGlobus,
        settings.DiamondBudget,
        settings.DiamondNews,
        settings.DiamondData,
        settings.DiamondApprovals,
        settings.DiamondMcp,
        settings.DiamondAgent,
    )
    for name, trait in cls.class_own_traits(config=True).items()
}


def test_every_option_of_the_cell_magic_is_in_the_readme():
    options = {
        option for action in submit_parser()._actions for option in action.option_strings if option.startswith("--")
    }
    assert {option for option in options if f"`{option}" not in README} == set()


def test_the_readme_names_no_option_that_is_not_there():
    options = {option for action in submit_parser()._actions for option in action.option_strings}
    table = README.split("| option | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(--[a-z-]+)", table)) <= options


@pytest.mark.parametrize("command", sorted(parsers()))
def test_every_subcommand_is_in_the_readme_and_in_the_help(command):
    assert f"%diamond {command}" in README
    assert f"%diamond {command}" in HELP


COMMAND_LINE = README.split("## From the command line")[1].split("\n## ")[0]


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
def test_every_verb_of_the_command_line_is_in_the_readme(verb):
    assert re.search(rf"`{re.escape(verb)}[` ]", COMMAND_LINE)


def test_every_line_of_the_command_lines_table_is_understood():
    for row in re.findall(r"^\| (`.*?) \|", COMMAND_LINE, re.MULTILINE):
        for line in re.findall(r"`([^`]+)`", row):
            assert parser().parse_args(shlex.split(line)).verb == line.split()[0]


@pytest.mark.parametrize("trait", sorted(TRAITS))
def test_every_setting_is_in_the_readme(trait):
    assert f"`{trait}`" in README


@pytest.mark.parametrize(("trait", "row"), [
    (trait, line) for trait in TRAITS for line in README.splitlines() if line.startswith(f"| `{trait}` |")
])  # fmt: skip
def test_the_defaults_in_the_readme_are_the_real_ones(trait, row):
    said = row.split("|")[2].strip()
    default = TRAITS[trait].default_value
    if isinstance(default, bool):
        assert said == str(default)
    elif isinstance(default, (int, float)):
        number, _, unit = said.partition(" ")
        assert float(number) * {"": 1, "MiB": 1 << 20}[unit] == default
    else:
        assert said


def test_the_site_catalogue_of_the_readme_loads(tmp_path):
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL).group(1)
    (tmp_path / "sites.yaml").write_text(text)
    delta, anvil, behind_globus = load_catalogue(tmp_path / "sites.yaml", this_machine=None)
    assert (delta.name, delta.scheduler, delta.modules.kind) == ("delta", "slurm", "login_shell")
    assert (anvil.transport, anvil.host) == ("ssh", "anvil-login")
    assert (behind_globus.transport, str(behind_globus.endpoint)[:8]) == ("globus-compute", "01234567")


def test_every_field_of_a_site_is_in_the_readme():
    internal = {"simulated"}  # one value today
    assert {name for name in Site.model_fields if name not in README} - internal == set()


def test_every_make_target_of_the_readme_is_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
