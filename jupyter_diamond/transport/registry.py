"""Which transport reaches a site."""

from __future__ import annotations

from jupyter_diamond.model.site import Site

from .base import Transport
from .local import LocalTransport


def transport_for(site: Site) -> Transport:
    """A transport of the site's kind; the caller closes it."""
    return LocalTransport(site.env, where=site.name)
