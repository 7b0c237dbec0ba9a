"""Sites behind the local stand-in of Globus Compute, as the transport's tests have them."""

from __future__ import annotations

import json
import logging
import sys

from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.site import Site
from jupyter_diamond.settings import DiamondGlobus


def signed_in(services, folder, **settings):
    """A login at the stand-in, out of the environment."""
    environ = {"JUPYTER_DIAMOND_TOKENS": json.dumps(services.auth.issue()), "HOME": str(folder)}
    settings = DiamondGlobus(tokens_folder=str(folder / "globus"), **settings)
    return Globus(settings, logging.getLogger("diamond.test"), environ)


def site_at(endpoint_id, folder, **fields):
    """A site behind an endpoint."""
    return Site(
        name="delta", transport="globus-compute", scheduler="slurm", endpoint=endpoint_id, workdir=str(folder), **fields
    )


def catalogue(endpoint_id, site):
    """A site catalogue with one cluster, as the testbed gives it, behind an endpoint."""
    del site["env"]  # the endpoint has it
    site |= {"transport": "globus-compute", "endpoint": endpoint_id, "python": sys.executable}
    fields = [f"{key}: {json.dumps(value)}" for key, value in site.items()]
    return "\n    ".join([f"sites:\n  - {fields[0]}", *fields[1:]]) + "\n"
