"""What a user may still write, by the words of ``quota -p -w`` and ``lfs quota -q``."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.parsing.quotas import Left, quota_left

QUOTA = """Disk quotas for user ada (uid 1001):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
fs1:/export/home   20480  51200   61440       0    1200   10000   12000       0
/dev/mapper/vg0-scratch_with_a_long_name
                   70000* 65000   80000   86400    9000       0       0       0
"""


@pytest.mark.parametrize(
    ("text", "device", "left"),
    [
        (QUOTA, "fs1:/export/home", Left(40960 * 1024, 10800)),
        (QUOTA, "/dev/mapper/vg0-scratch_with_a_long_name", Left(10000 * 1024, None)),
        (QUOTA, "tmpfs", Left()),
        ("/lustre/scratch  900*  800  1000  -  5  0  0  -", None, Left(100 * 1024, None)),
        ("/lustre/scratch\n   900  800  0  -  50  40  50  -", None, Left(0, 0)),
        ("/lustre/scratch  900  0  0  -  5  0  0  -", None, Left()),
        ("Some errors happened when getting quota info.", None, Left()),
        ("", None, Left()),
    ],
)
def test_what_is_left_is_read(text, device, left):
    assert quota_left(text, device) == left


@given(st.text(alphabet="/ab09 *-\n٣²"))
def test_no_text_raises(text):
    assert quota_left(text).bytes is None or quota_left(text).bytes >= 0
