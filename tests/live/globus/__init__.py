"""A local stand-in of the Globus services that the real SDKs and the real endpoint agent talk to, on loopback.

Written from what the clients do and from the answers that ``globus_sdk.testing`` ships; test_conformance.py keeps it
there. It is a stand-in, not Globus: what it answers where the clients do not look is a guess.
"""

from __future__ import annotations

from .agent import AgentError, RealAgent
from .auth import COMPUTE, TRANSFER
from .client import TaskClient
from .compute import Compute
from .identities import ALICE, BOB, Client, Identity
from .server import Exchange, Fault, HttpError
from .standin import StandIn
from .tasks import Endpoint
from .transfer import Transfer
from .transfer_collections import Collection

__all__ = [
    "ALICE",
    "BOB",
    "COMPUTE",
    "TRANSFER",
    "AgentError",
    "Client",
    "Collection",
    "Compute",
    "Endpoint",
    "Exchange",
    "Fault",
    "HttpError",
    "Identity",
    "RealAgent",
    "StandIn",
    "TaskClient",
    "Transfer",
]
