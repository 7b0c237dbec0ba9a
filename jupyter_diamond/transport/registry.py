"""Which transport reaches a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_diamond.model.site import Site

from .base import Transport
from .globus_compute import GlobusComputeTransport
from .local import LocalTransport
from .ssh import SshTransport
from .ssh_client import Client

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus


def transport_for(site: Site, globus: Globus, *, answer_s: float = 120.0) -> Transport:
    """A transport of the site's kind; the caller closes it. ``answer_s``: see ``settings.DiamondGlobus``."""
    if site.transport == "globus-compute" and site.endpoint is not None:
        return GlobusComputeTransport(globus, site, answer_s)
    if site.transport == "ssh" and site.host is not None:
        client = Client(host=site.host, where=site.name, options=site.ssh_options, config=site.ssh_config)
        return SshTransport(client, site.env)
    return LocalTransport(site.env, where=site.name)
