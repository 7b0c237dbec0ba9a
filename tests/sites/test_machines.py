"""The known machines: their files, and which host is which machine."""

from __future__ import annotations

import re
from datetime import date
from types import SimpleNamespace

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.machine import Fact
from jupyter_diamond.model.site import Site
from jupyter_diamond.sites.catalogue import load_catalogue
from jupyter_diamond.sites.machines import documented, machine, machine_of, names, read_machine, recognise

TWELVE = ("anvil", "bridges-2", "delta", "deltaai", "expanse", "frontera", "frontier", "lonestar6", "perlmutter",
          "polaris", "sophia", "vista")  # fmt: skip


def test_the_twelve_are_there():
    assert names() == TWELVE


@pytest.mark.parametrize("name", TWELVE)
def test_every_fact_has_a_source_with_a_date(name):
    found = documented(name)
    assert found.name == name
    facts = [*found.hosts, *found.nodes.values(), *found.partitions.values(), *found.forbidden_options,
             *found.required_options, *found.charges, *found.accounts, *found.containers, *found.login_limits,
             *found.notes, *filter(None, (found.select_by, found.whole_node, found.gpu_visible_in_gres,
                                          found.poll_floor))]  # fmt: skip
    assert all(isinstance(fact, Fact) for fact in facts)
    for fact in facts:
        for source in fact.source:
            assert found.sources[source].title
            assert found.sources[source].read >= date(2026, 1, 1)
    for source in found.sources.values():
        assert source.dated is None or source.dated <= source.read


@pytest.mark.parametrize("name", TWELVE)
def test_what_is_unconfirmed_is_not_among_what_decides(name):
    told, sure = documented(name), machine(name)
    doubtful = [each for each in (*told.hosts, *told.nodes.values(), *told.partitions.values())
                if each.confidence == "unconfirmed"]  # fmt: skip
    settled = [*sure.hosts, *sure.nodes.values(), *sure.partitions.values()]
    assert all(each.confidence == "documented" for each in settled)
    assert len(settled) == len([*told.hosts, *told.nodes.values(), *told.partitions.values()]) - len(doubtful)


def test_time_limits_that_only_general_knowledge_has_are_absent():
    assert {part.walltime for part in documented("anvil").partitions.values()} == {None}
    assert documented("perlmutter").partitions["gpu"].walltime is None
    assert documented("expanse").partitions == documented("bridges-2").partitions == {}
    assert "gpu" in documented("anvil").partitions
    assert "gpu" not in machine("anvil").partitions


HOSTS = [
    ("login.delta.ncsa.illinois.edu", "delta"),
    ("dt-login.delta.ncsa.illinois.edu", "delta"),
    ("dt-login03.delta.ncsa.illinois.edu", "delta"),
    ("LOGIN.Delta.ncsa.illinois.edu.", "delta"),
    ("gh-login01.delta.ncsa.illinois.edu", "deltaai"),
    ("gh-login04.delta.ncsa.illinois.edu", "deltaai"),
    ("anvil.rcac.purdue.edu", "anvil"),
    ("login02.anvil.rcac.purdue.edu", "anvil"),
    ("vista.tacc.utexas.edu", "vista"),
    ("login2.vista.tacc.utexas.edu", "vista"),
    ("frontera.tacc.utexas.edu", "frontera"),
    ("ls6.tacc.utexas.edu", "lonestar6"),
    ("login1.ls6.tacc.utexas.edu", "lonestar6"),
    ("perlmutter.nersc.gov", "perlmutter"),
    ("saul.nersc.gov", "perlmutter"),
    ("polaris.alcf.anl.gov", "polaris"),
    ("sophia.alcf.anl.gov", "sophia"),
    ("frontier.olcf.ornl.gov", "frontier"),
    ("login.expanse.sdsc.edu", "expanse"),
    ("bridges2.psc.edu", None),  # its host name is unconfirmed
    ("delta", None),  # a bare name is whatever an SSH configuration says
    ("ls6", None),
    ("delta.ncsa.illinois.edu.example.org", None),
    ("mylogin.delta.ncsa.illinois.edu", None),
    ("gh-login01.evil.delta.ncsa.illinois.edu", None),
    ("notanvil.rcac.purdue.edu", None),
    ("vista.tacc.utexas.edu@evil.example.org", None),
    ("", None),
]


@pytest.mark.parametrize(("host", "name"), HOSTS)
def test_a_host_is_recognised_by_the_most_specific_pattern(host, name):
    found = recognise(host)
    assert (found.name if found else None) == name


SITES = [
    (Site(name="d", scheduler="slurm"), "login.delta.ncsa.illinois.edu", "delta"),
    (Site(name="d", scheduler="slurm"), "laptop", None),
    (Site(name="d", scheduler="slurm", machine="none"), "login.delta.ncsa.illinois.edu", None),
    (Site(name="d", scheduler="slurm", machine="bridges-2"), "login.delta.ncsa.illinois.edu", "bridges-2"),
    (Site(name="d", scheduler="process"), "login.delta.ncsa.illinois.edu", None),
    (Site(name="d", scheduler="slurm", simulated=True), "login.delta.ncsa.illinois.edu", None),
    (Site(name="d", scheduler="slurm"), "polaris.alcf.anl.gov", None),  # Polaris speaks PBS
]


@pytest.mark.parametrize(("site", "host", "name"), SITES)
def test_the_user_overrules_the_host(site, host, name):
    """``host`` is where a local site is."""
    found = machine_of(site, this_host=host)
    assert (found.name if found else None) == name


REMOTE = [
    ("me@gh-login01.delta.ncsa.illinois.edu", "deltaai"),
    ("vista.tacc.utexas.edu", "vista"),
    ("vista.tacc.utexas.edu@evil.example.org", None),
    ("delta", None),  # an alias; where it leads is the SSH configuration's business
    ("", None),
]


@pytest.mark.parametrize(("host", "name"), REMOTE)
def test_a_remote_site_is_recognised_by_its_own_host_and_not_by_this_machines(host, name):
    remote = SimpleNamespace(machine=None, simulated=False, scheduler="slurm", transport="ssh", host=host)
    found = machine_of(remote, this_host="login.delta.ncsa.illinois.edu")
    assert (found.name if found else None) == name


CATALOGUES = [
    ("machine: delt", "line 4: 'delt' is no known machine; did you mean 'delta'? Write 'none' for any other."),
    ("machine: summit", "line 4: 'summit' is no known machine; the known ones are anvil, "),
    ("machine: polaris", "line 4: ALCF Polaris runs pbs, and this site says scheduler: slurm; change one of the two."),
    ("options: {nodes: '4'}", "line 4: options cannot set nodes, which every job says for itself"),
]


@pytest.mark.parametrize(("line", "sentence"), CATALOGUES)
def test_a_machine_in_the_catalogue_is_checked_with_its_line(tmp_path, line, sentence):
    path = tmp_path / "sites.yaml"
    path.write_text(f"sites:\n  - name: x\n    scheduler: slurm\n    {line}\n")
    with pytest.raises(InvalidRequest, match=re.escape(sentence)):
        load_catalogue(path, this_machine=None)


def test_a_machine_in_the_catalogue_is_kept(tmp_path):
    path = tmp_path / "sites.yaml"
    path.write_text(
        "sites:\n  - {name: x, scheduler: slurm, machine: vista}\n  - {name: y, scheduler: slurm, machine: none}\n"
    )
    assert [site.machine for site in load_catalogue(path, this_machine=None)] == ["vista", "none"]


GOOD = """\
name: toy
title: Toy
scheduler: slurm
source: guide
sources:
  guide: {title: Guide, read: 2026-11-30}
hosts:
  - {pattern: toy.example.org, source: guide}
nodes:
  n: {cpus: 4, memory: 8 GB, source: guide}
partitions:
  p: {nodes: n, walltime: 2 h, source: guide}
"""

BROKEN = [
    ("walltime: 2 h", "walltime: 2", "line 12: partitions.p.walltime: must have a unit, for example 48 h or 30 min."),
    ("walltime: 2 h", "walltime: 2 weeks", "line 12: partitions.p.walltime: must be an amount such as 48 h or 30 min."),
    ("memory: 8 GB", "memory: 8 G", "line 10: nodes.n.memory: must be an amount such as 256 GB or 512 GiB."),
    ("cpus: 4, ", "cpu: 4, ", "line 10: nodes.n.cpu: Extra inputs are not permitted."),
    ("walltime: 2 h, source: guide", "walltime: 2 h", "line 12: partitions.p.source: Field required."),
    ("2 h, source: guide", "2 h, source: hearsay", "line 12: there is no source 'hearsay' in sources."),
    ("source: guide\nsources:\n", "source: guide\nsources:\n  unused: {title: U, read: 2026-11-30}\n", "line 6: nothing comes from the source 'unused'; remove it."),
    ("nodes: n", "nodes: m", "line 1: the file: partition p names nodes 'm', which are not described."),
    ("pattern: toy.example.org", "pattern: toy", "line 8: hosts.0.pattern: String should match pattern"),
    ("scheduler: slurm", "scheduler: lsf", "line 3: scheduler: Input should be 'slurm' or 'pbs'."),
    ("2 h, source", "2 h, walltime_by_nodes: [{nodes: 9, walltime: 1 h}, {nodes: 9, walltime: 2 h}], source", "line 12: partitions.p: walltime_by_nodes must name ascending numbers of nodes."),
    ("2 h, source", "2 h, reached_through: q, source", "line 11: partitions: p is reached through 'q', which is no partition here."),
    ("nodes:\n", "nodes: [\n", "line 11"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "sentence"), BROKEN)
def test_a_mistake_in_a_machines_file_is_pointed_at(old, new, sentence):
    assert read_machine(GOOD, file="toy.yaml").partitions["p"].walltime == 7200
    assert old in GOOD
    with pytest.raises(InvalidRequest) as refused:
        read_machine(GOOD.replace(old, new, 1), file="toy.yaml")
    assert refused.value.message.startswith("toy.yaml, " + sentence)


def test_how_a_job_asks_comes_from_the_profile():
    perlmutter, vista, frontier = machine("perlmutter"), machine("vista"), machine("frontier")
    assert perlmutter.ask_for("gpu-hbm80g", "regular")[:2] == (None, "regular")
    assert perlmutter.ask_for("gpu-hbm80g", "regular")[2].constraint == "gpu&hbm80g"
    partition, qos, dialect = vista.ask_for("gh", None)
    assert (partition, qos, dialect.names_gpus, dialect.constraint) == ("gh", None, False, None)
    assert {"--mem", "--gres"} <= set(dialect.forbidden_options)
    assert frontier.ask_for("debug", None)[:2] == ("batch", "debug")
    assert frontier.ask_for("batch", None)[:2] == ("batch", None)
    assert machine("delta").ask_for("anything", "q")[:2] == ("anything", "q")
