"""A notebook shell for the tests of cells."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .notebook_shell import Notebook, notebook_in


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Notebook]:
    with notebook_in(tmp_path / "notebook") as made:
        yield made
