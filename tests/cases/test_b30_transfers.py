"""B30: a transfer of a missing file is active for a day, a progress event is taken for the end, a consent is missing.

globus/globus-cli#1056, ORNL/DataFed#709, globus/globus-sdk-python#638 and #924, terraref/computing-pipeline#425.
"""

import pytest

from jupyter_diamond.data.globus_task import failed, hopeless, mark, path_in, progress, stalled

TASK = {
    "task_id": "t", "status": "ACTIVE", "is_ok": False, "nice_status": "FILE_NOT_FOUND", "faults": 1, "files": 3,
    "nice_status_short_description": "File not found", "files_transferred": 1, "files_skipped": 0, "directories": 0,
    "bytes_transferred": 100, "bytes_checksummed": 100, "effective_bytes_per_second": 50, "fatal_error": None,
}  # fmt: skip
GRIDFTP = (
    "Error (transfer)\nEndpoint: Delta (0000)\nServer: 10.0.0.1:443\nFile: /proj/in/a b.h5\nCommand: RETR /proj/in/a "
    "b.h5\nMessage: The file is not there\n---\nDetails: 550-GlobusError: v=1 c=PATH_NOT_FOUND"
)


def event(code, details=None, *, is_error=True):
    return {"code": code, "details": details, "is_error": is_error, "time": "2026-11-30T00:00:00+00:00"}


@pytest.mark.parametrize(("details", "path"), [
    (GRIDFTP, "/proj/in/a b.h5"),
    ("path=/proj/in/a.h5", "/proj/in/a.h5"),
    ("Error: '/~/a.h5' not found", "/~/a.h5"),
    ("cannot open /proj/a.h5: No such file", "/proj/a.h5"),
    ("no path at all", ""),
    ("File: /evil\x1b[31m\x07name", "/evil [31m name"),
    ("", ""),
])  # fmt: skip
def test_the_path_of_an_event_is_found_and_is_data(details, path):
    assert path_in(details) == path


@pytest.mark.parametrize(("code", "kind"), [
    ("FILE_NOT_FOUND", "missing"), ("PERMISSION_DENIED", "permission"), ("QUOTA_EXCEEDED", "no_space"),
    ("NO_SPACE", "no_space"),
])  # fmt: skip
def test_what_no_further_try_mends_is_told_with_its_path(code, kind):
    events = [event("PROGRESS", is_error=False), event(code, GRIDFTP), event("STARTED", is_error=False)]
    problem = hopeless(events, "delta", "anvil")
    assert problem.kind == kind
    assert "/proj/in/a b.h5" in problem.message or kind == "no_space"
    assert not problem.transient


@pytest.mark.parametrize("code", ["SUCCEEDED", "PROGRESS", "FILE_NOT_FOUND"])
def test_an_event_that_is_no_error_ends_nothing(code):
    assert hopeless([event(code, GRIDFTP, is_error=False)], "delta", "anvil") is None


@pytest.mark.parametrize("code", ["ENDPOINT_TOO_BUSY", "TIMEOUT", "CONNECT_FAILED", "VERIFY_CHECKSUM", "AUTH"])
def test_what_may_pass_is_left_to_the_service(code):
    assert hopeless([event(code, "x")], "delta", "anvil") is None


@pytest.mark.parametrize(("fatal", "events", "kind", "words"), [
    ({"code": "EXPIRED", "description": "late"}, [], "late", "before its deadline"),
    ({"code": "EXPIRED_CREDENTIALS", "description": "log in"}, [], "refused", "log in"),
    ({"code": "CANCELED", "description": ""}, [], "refused", "cancelled at Globus, not from here"),
    (None, [event("CANCELED")], "refused", "cancelled at Globus, not from here"),
    ({"code": "VERIFY_CHECKSUM", "description": "bad"}, [event("VERIFY_CHECKSUM", "/x/y")], "corrupt", "/x/y"),
    ({"code": "FILE_NOT_FOUND", "description": "gone"}, [event("FILE_NOT_FOUND", GRIDFTP)], "missing", "a b.h5"),
    (None, [], "broken", "UNKNOWN"),
    ({"code": "NEW_CODE", "description": "two\nlines\x1b"}, [], "broken", "two lines"),
])  # fmt: skip
def test_why_a_task_failed(fatal, events, kind, words):
    problem = failed({**TASK, "status": "FAILED", "fatal_error": fatal}, events, "delta", "anvil")
    assert problem.kind == kind
    assert words in problem.message
    assert problem.message.isprintable()


def test_how_far_it_is_never_passes_what_there_is():
    told = progress({**TASK, "bytes_transferred": 900}, bytes_total=600, files_total=3)
    assert (told.bytes_done, told.bytes_sent, told.eta_s, told.faults) == (600, 900, 0.0, 1)
    unknown = progress({**TASK, "files": 0, "effective_bytes_per_second": 0})
    assert (unknown.bytes_total, unknown.files_total, unknown.rate, unknown.eta_s) == (None, None, None, None)
    half = progress(TASK, bytes_total=600, files_total=None, skipped=2)
    assert (half.eta_s, half.files_total, half.files_done, half.files_skipped) == (10.0, 5, 3, 2)


def test_comparing_and_verifying_is_no_stall():
    assert stalled(TASK)
    assert not stalled({**TASK, "is_ok": None})
    assert mark(TASK) != mark({**TASK, "bytes_checksummed": 200})
    assert mark(TASK) == mark({**TASK, "faults": 9})
