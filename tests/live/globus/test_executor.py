"""The real Executor of the Compute SDK, whose results come by AMQP: that the broker is one."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.live.globus import StandIn

# A process of its own: the SDK's thread for results goes on after the Executor, and never closes its sockets.
SCRIPT = """
import json, sys
from globus_compute_sdk import Client, Executor
from globus_sdk.authorizers import AccessTokenAuthorizer

url, token, endpoint = sys.argv[1:]
client = Client(do_version_check=False, authorizer=AccessTokenAuthorizer(token))
for web in (client._compute_web_client.v2, client._compute_web_client.v3):
    web.base_url = url

def fail():
    raise ValueError("as it should")

with Executor(endpoint_id=endpoint, client=client) as executor:
    futures = [executor.submit(abs, -number) for number in range(3)]
    failure = executor.submit(fail)
    said = {"numbers": [future.result(60) for future in futures], "failure": str(failure.exception(60))}
print(json.dumps(said))
"""


def test_results_and_failures_come_to_an_executor(globus_services: StandIn) -> None:
    endpoint = globus_services.compute.add_endpoint("delta")
    token = globus_services.auth.issue()["access_token"]

    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, globus_services.url, token, endpoint.id],
        check=False,  # what it said is looked at
        capture_output=True,
        text=True,
        timeout=120,
    )

    said = json.loads(ended.stdout)
    assert said["numbers"] == [0, 1, 2]
    assert "ValueError: as it should" in said["failure"]
