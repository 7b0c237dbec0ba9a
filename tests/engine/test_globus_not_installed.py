"""A server whose catalogue has a site behind Globus Compute, and which has no Globus SDK: one site with one problem."""

import pytest

from jupyter_diamond.globus import access


@pytest.mark.asyncio
async def test_the_site_says_what_is_missing_and_all_others_work(bench, monkeypatch):
    monkeypatch.setattr(access, "installed", lambda: False)
    bench.sites_path.write_text("""sites:
  - name: delta
    transport: globus-compute
    scheduler: slurm
    endpoint: 01234567-89ab-cdef-0123-456789abcdef
""")
    service = await bench.start()
    await service.refresh(None)
    readings = {reading.site: reading for reading in (await service.sites()).sites}
    assert readings["here"].health == "online"
    assert readings["delta"].health != "online"
    assert "pip install 'jupyter-diamond[globus]'" in readings["delta"].problem
