"""Which transport reaches a site."""

from __future__ import annotations

from jupyter_diamond.model.site import Site

from .base import Transport
from .local import LocalTransport
from .ssh import SshTransport
from .ssh_client import Client


def transport_for(site: Site) -> Transport:
    """A transport of the site's kind; the caller closes it."""
    if site.transport == "ssh" and site.host is not None:
        client = Client(host=site.host, where=site.name, options=site.ssh_options, config=site.ssh_config)
        return SshTransport(client, site.env)
    return LocalTransport(site.env, where=site.name)
