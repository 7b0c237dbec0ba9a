"""The site catalogue: what it takes, and how it points at a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.sites.catalogue import load_catalogue, this_machine

HERE = this_machine("/home/me/here")


def load(tmp_path: Path, text: str, here=HERE):
    path = tmp_path / "sites.yaml"
    path.write_text(text)
    return load_catalogue(path, this_machine=here)


def test_without_a_file_there_is_this_machine(tmp_path):
    (site,) = load_catalogue(tmp_path / "none.yaml", this_machine=HERE)
    assert (site.name, site.scheduler, site.transport) == ("here", "process", "local")
    assert site.env == {"DIAMOND_PROCESS_QUEUE": "/home/me/here/queue"}
    assert load_catalogue(tmp_path / "none.yaml", this_machine=None) == ()


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "sites:\n", "sites: []\n"])
def test_an_empty_file_is_no_error(tmp_path, text):
    assert load(tmp_path, text) == (HERE,)


def test_sites_come_in_the_files_order_with_all_their_fields(tmp_path):
    here, delta, anvil, box = load(
        tmp_path,
        """
# mine
sites:
  - name: delta
    scheduler: slurm
    env: {SLURM_CONF: /etc/slurm/delta.conf}
    workdir: ~/diamond
    python: /opt/python
    modules: {kind: source, path: /etc/profile.d/lmod.sh, load: [python/3.11]}
    account: abc
    partition: cpu
    prefer: 2
    poll_floor_s: 5
  - {name: anvil, scheduler: slurm}
  - {name: box, scheduler: process, workdir: /srv/box}
""",
    )
    assert here == HERE
    assert (delta.name, delta.env, delta.account, delta.partition, delta.prefer, delta.poll_floor_s) == (
        "delta", {"SLURM_CONF": "/etc/slurm/delta.conf"}, "abc", "cpu", 2, 5.0,
    )  # fmt: skip
    assert (delta.modules.kind, delta.modules.load) == ("source", ("python/3.11",))
    assert anvil.name == "anvil"
    assert box.env == {"DIAMOND_PROCESS_QUEUE": "/srv/box/queue"}


def test_a_site_behind_ssh(tmp_path):
    (delta,) = load(
        tmp_path,
        """
sites:
  - name: delta
    transport: ssh
    host: me@login.delta.example.org
    ssh_options: [Port=2222, "ProxyJump=me@gate.example.org:22,inner", Compression=yes]
    ssh_config: ~/.ssh/clusters
    scheduler: slurm
""",
        here=None,
    )
    assert (delta.transport, delta.host, delta.ssh_config) == ("ssh", "me@login.delta.example.org", "~/.ssh/clusters")
    assert delta.ssh_options == ("Port=2222", "ProxyJump=me@gate.example.org:22,inner", "Compression=yes")


@pytest.mark.parametrize("option", [
    "ProxyCommand=touch /tmp/x", "proxycommand=nc", "LocalCommand=id", "PermitLocalCommand=yes", "KnownHostsCommand=id",
    "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "PKCS11Provider=/tmp/evil.so", "SecurityKeyProvider=x",
    "Include=/tmp/x", "Match=exec", "XAuthLocation=/tmp/x", "BatchMode=no", "ControlPath=/tmp/x", "IdentityAgent=/tmp/x",
    "ForwardAgent=yes", "RemoteCommand=id", "SendEnv=*",
])  # fmt: skip
def test_no_option_of_ssh_runs_a_command_or_lowers_a_guard(tmp_path, option):
    with pytest.raises(InvalidRequest, match=r"line 6: ssh_options (may not set|must hold Name=value)"):
        load(tmp_path, "sites:\n- name: d\n  transport: ssh\n  host: d\n  scheduler: slurm\n"
                       f"  ssh_options: ['{option}']\n")  # fmt: skip


@pytest.mark.parametrize(
    "option",
    ["Port=1\\n", "Port", "-oPort=1", "Port 22", "ProxyJump=a b", "HostName=$(id)", "HostName=`id`", "User=;id"],
)
def test_an_option_of_ssh_is_a_name_and_a_plain_value(tmp_path, option):
    with pytest.raises(InvalidRequest, match=r"line 6: ssh_options must hold Name=value without spaces"):
        load(tmp_path, "sites:\n- name: d\n  transport: ssh\n  host: d\n  scheduler: slurm\n"
                       f'  ssh_options: ["{option}"]\n')  # fmt: skip


MISTAKES = {
    "no host": (
        "sites:\n  - name: d\n    transport: ssh\n    scheduler: slurm\n",
        "line 2: host is needed where transport is ssh; for example: host: delta-login",
    ),
    "an option for a host": (
        "sites:\n  - name: d\n    transport: ssh\n    host: -oProxyCommand=id\n    scheduler: slurm\n",
        "line 4: host must be a host, an alias of your ssh config, or user@host, not '-oProxyCommand=id'",
    ),
    "a host without ssh": (
        "sites:\n  - {name: d, host: d, scheduler: slurm}\n", "line 2: host is for a site that is reached over ssh or globus-compute, not 'd'",
    ),
    "this machine's queue over ssh": (
        "sites:\n  - {name: d, transport: ssh, host: d, scheduler: process}\n",
        "line 2: scheduler must be a batch system where transport is ssh",
    ),
    "globus-compute without an endpoint": (
        "sites:\n  - {name: d, transport: globus-compute, scheduler: slurm}\n",
        "line 2: endpoint is needed where transport is globus-compute",
    ),
    "an endpoint that is no uuid": (
        "sites:\n  - {name: d, transport: globus-compute, scheduler: slurm, endpoint: mine}\n",
        "line 2: endpoint must be",
    ),
    "an endpoint without globus-compute": (
        "sites:\n  - {name: d, scheduler: slurm, endpoint: 8c2a5f0e-0a3b-4c1d-9e2f-1a2b3c4d5e6f}\n",
        "line 2: endpoint is for transport: globus-compute alone",
    ),
    "unknown transport": (
        "sites:\n  - {name: d, transport: scp, scheduler: slurm}\n", "line 2: transport must be 'local', 'ssh' or 'globus-compute', not 'scp'",
    ),
    "unknown scheduler": (
        "sites:\n  - name: delta\n    scheduler: pbs\n",
        "line 3: scheduler must be 'process', 'slurm' or 'simulated', not 'pbs'; for example: scheduler: slurm",
    ),
    "misspelt field": (
        "sites:\n  - name: delta\n    scheduler: slurm\n    acount: x\n",
        "line 4: 'acount' is no field of a site; did you mean 'account'?; for example: account: abcd-delta-gpu",
    ),
    "unknown field": ("sites:\n- {name: d, scheduler: slurm, xyzzy: 1}\n", "line 2: 'xyzzy' is no field of a site; the fields are"),
    "missing field": (
        "sites:\n\n  - name: delta\n",
        "line 3: the site lacks scheduler; for example: scheduler: slurm",
    ),
    "bad name": ("sites:\n  - name: 'my site'\n    scheduler: slurm\n", "line 2: name must start with a letter"),
    "a name that YAML reads as a boolean": (
        "sites:\n  - scheduler: slurm\n    name: yes it\n", "line 3: name must start with a letter",
    ),
    "a number where text is needed": (
        "sites:\n  - name: d\n    scheduler: slurm\n    env:\n      A: x\n      OMP_NUM_THREADS: 4\n",
        "line 6: env.OMP_NUM_THREADS must be a valid string, not 4 (put it in quotes)",
    ),
    "a variable's name": (
        "sites:\n  - name: d\n    scheduler: slurm\n    env: {'A B': x}\n", "line 4: env names 'A B'",
    ),
    "control character in a path": (
        'sites:\n  - name: d\n    scheduler: slurm\n    workdir: "a\\nb"\n',
        "line 4: workdir must be a plain path",
    ),
    "zero poll": ("sites:\n  - {name: d, scheduler: slurm, poll_floor_s: 0}\n", "line 2: poll_floor_s must be greater than 0, not 0"),
    "module field": (
        "sites:\n  - name: d\n    scheduler: slurm\n    modules:\n      kind: lmod\n",
        "line 5: modules.kind must be 'none', 'login_shell' or 'source', not 'lmod'",
    ),
    "same name twice": (
        "sites:\n  - {name: d, scheduler: slurm}\n  - {name: D, scheduler: slurm}\n",
        "line 3: a site named D stands in line 2 already",
    ),
    "the built-in's name": ("sites:\n  - {name: here, scheduler: slurm}\n", "line 2: 'here' is the name of the built-in site"),
    "same field twice": ("sites:\n  - name: d\n    name: e\n    scheduler: slurm\n", "line 3: found duplicate key"),
    "not YAML": ("sites:\n  - name: [d\n", "line 3: "),
    "a tab": ("sites:\n\t- name: d\n", "line 2: found character"),
    "not a mapping": ("- name: d\n", "line 1: the file must hold a list named sites"),
    "another key": ("# x\nsite:\n  - name: d\n", "line 2: 'site' is not known here; only sites is"),
    "not a list": ("sites: {name: d}\n", "line 1: sites must be a list"),
    "text for a list": ("sites: delta\n", "line 1: sites must be a list"),
    "a site that is a word": ("sites:\n  - delta\n", "line 2: a site is a set of fields"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_pointed_at(tmp_path, case):
    text, sentence = MISTAKES[case]
    with pytest.raises(InvalidRequest) as caught:
        load(tmp_path, text)
    assert sentence in caught.value.message
    assert caught.value.message.startswith(str(tmp_path / "sites.yaml"))
    assert "\n" not in caught.value.message


def test_all_mistakes_of_a_site_are_kept_as_evidence(tmp_path):
    with pytest.raises(InvalidRequest, match="1 more in this site") as caught:
        load(tmp_path, "sites:\n  - name: 1x\n    scheduler: pbs\n")
    assert len(caught.value.evidence) == 2


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "sites.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequest, match="not UTF-8"):
        load_catalogue(tmp_path / "sites.yaml", this_machine=None)
    (tmp_path / "sites.yaml").unlink()
    (tmp_path / "sites.yaml").mkdir()
    with pytest.raises(InvalidRequest, match="cannot be read: Is a directory"):
        load_catalogue(tmp_path / "sites.yaml", this_machine=None)


def test_yaml_tags_make_no_objects(tmp_path):
    hostile = f"sites: !!python/object/apply:os.mkdir [{tmp_path}/made]\n"
    with pytest.raises(InvalidRequest):
        load(tmp_path, hostile)
    assert not (tmp_path / "made").exists()


def test_the_built_in_sites_folder_is_absolute(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert this_machine("~/d").workdir == "/home/me/d"
