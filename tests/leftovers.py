"""What a test that failed has left open: kept until the end, so that it fails no other test.

A process that still runs, a socket, a file: each warns when it is collected, and warnings are errors. Where a failure
cuts a test short, that would befall whichever test runs when the collector comes by.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

_KEPT: list[BaseException] = []
"""What ended tests; a traceback holds on to everything that its functions had."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo is not None:
        _KEPT.append(call.excinfo.value)
    return (yield)
