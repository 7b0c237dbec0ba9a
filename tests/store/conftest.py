"""A store in a folder of its own."""

from __future__ import annotations

import pytest

from jupyter_diamond.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "diamond" / "store.sqlite"


@pytest.fixture
def store(path):
    opened = Store(path)
    yield opened
    opened.close()
