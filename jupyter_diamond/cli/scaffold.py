"""The first sites.yaml: every known machine as a comment that only lacks the user's own account."""

from __future__ import annotations

from jupyter_diamond.model.machine import Machine
from jupyter_diamond.sites import machines

_HEAD = """\
# Your sites. Take away the '# ' in front of a machine that you use, put your account in, and restart JupyterLab.
# This machine is the site 'here' already. `jupyter diamond doctor` says what is still missing.
#
# Fields: name, transport (local, ssh), host (ssh: an alias of your ~/.ssh/config, or user@host), scheduler (slurm),
# account (the allocation that pays), partition (used where it can take the task), workdir (~/diamond),
# python (the interpreter that runs cells there), modules: {kind: login_shell, load: [cuda]}, prefer, poll_floor_s.

sites:
  # A cluster whose commands and files are on this machine (a login node, a hub next to the cluster):
  # - name: mycluster
  #   scheduler: slurm
  #   account: TODO
"""


def scaffold() -> str:
    """The whole file."""
    known = [machines.machine(name) for name in machines.names()]
    return _HEAD + "".join(_entry(machine) for machine in known if machine.scheduler == "slurm")


def _entry(machine: Machine) -> str:
    host = next((each.pattern for each in machine.hosts if "*" not in each.pattern), "TODO")
    lines = [f"- name: {machine.name}", "  transport: ssh", f"  host: {host}", "  scheduler: slurm"]
    lines.append(f"  machine: {machine.name}")
    lines.append("  account: TODO" + _accounts(machine))
    lines.append("  # python: TODO               # an interpreter there, 3.6 or newer; default: python3")
    return "\n" + "".join(f"  # {line}\n" for line in [machine.title, *lines])


def _accounts(machine: Machine) -> str:
    patterns = dict.fromkeys(each.pattern for each in machine.accounts)
    return f"                # named like {' or '.join(patterns)}" if patterns else ""
