"""A table of a group's values brings what is small, and of what is large only so much at a time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from jupyter_diamond.model.group import MemberResult
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.notebook.group_results import Room, load_member

KEY = "ab" * 32
MANIFEST = {"format": 1, "token": "dmd-1", "outcome": "OK", "started_at": 1.0, "ended_at": 2.0}
LARGE = json.dumps("x" * 998).encode()


class Files:
    """A server that counts what is fetched from it."""

    def __init__(self):
        self.asked = []

    def file(self, ref, path):
        self.asked.append((ref, path))
        return LARGE


def result(index, *, inline):
    def named(name, data):
        signed = hmac.new(bytes.fromhex(KEY), data, hashlib.sha256).hexdigest()
        return {
            "name": name, "codec": "json", "file": f"result/{name}.json", "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(), "hmac": signed,
        }  # fmt: skip

    small = {"result/small.json": base64.b64encode(b"7").decode()}
    manifest = Manifest.model_validate(MANIFEST | {"values": [named("small", b"7"), named("large", LARGE)]})
    return MemberResult(
        index=index, task_id=f"g0-{index}", attempt=1, manifest=manifest, key=KEY, inline=small if inline else {},
        left=("result/large.json",),
    )  # fmt: skip


def test_large_values_are_fetched_while_there_is_room_and_named_when_there_is_none():
    client, room = Files(), Room(2 * len(LARGE) + 10)
    loaded = [load_member(result(index, inline=True), ("small", "large"), client, room) for index in range(3)]
    assert [set(values) for values, _ in loaded] == [{"small", "large"}, {"small", "large"}, {"small"}]
    assert [trouble for _, trouble in loaded[:2]] == ["", ""]
    assert loaded[2][1] == "`large` (1000 bytes) is not fetched with so many others; ask for it alone."
    assert room.refused
    assert client.asked == [("g0-0", "result/large.json"), ("g0-1", "result/large.json")]
