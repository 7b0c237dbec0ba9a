"""What sites print about accounts: answers as their documentation shows them, and what nobody should believe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.parsing.balances import read_balances

ACCOUNTS = """Project Summary for User 'kingda':

Project         Description                    Balance (Hours)    Deposited (Hours)
--------------  ---------------------------  -----------------  -------------------
bbka-delta-gpu  ncsa/delta staff allocation            5000000              5000000
bbka-delta-cpu  ncsa/delta staff allocation         -12,000.50            100000000
"""
MYBALANCE = """
Allocation     Type    SU Limit    SU Usage   SU Usage  SU Balance
Account                           (account)     (user)
=============  ====  ==========  ========== ==========  ==========
cis250223       CPU     10001.0      1014.9      214.4      8986.1
cis250223-gpu   GPU      1000.0         0.0        0.0      1000.0
"""
SBANK = """ Allocation  Suballocation  Start       End         Resource  Project      Jobs  Charged  Available Balance
 ----------  -------------  ----------  ----------  --------  -----------  ----  -------  -----------------
 14269       14177          2025-07-01  2026-10-01  polaris   neutrinos       0      0.0                0.0
 14269       14453          2025-07-01  2026-10-01  polaris   neutrinos       1     0.05              231.9
 15525       15496          2025-07-01  2026-10-01  polaris   Catalysts      34     34.2          135,758.5

Totals:
  Rows: 3
"""
TACCINFO = """
--------------------- Project balances for user bjones ------------------------
| Name           Avail SUs     Expires | Name           Avail SUs     Expires |
| A-ccsc            342808  2030-09-30 | A-cciq              4828  2026-09-30 |
| TACC-SCI           ##### 20XX-0X-XX  |                                      |
------------------------ Disk quotas for user bjones --------------------------
| Disk         Usage (GB)     Limit    %Used   File Usage       Limit   %Used |
| /home1              2.5      10.0    25.07        18488           0    0.00 |
-------------------------------------------------------------------------------
"""
ANSWERS = [
    ("accounts", ACCOUNTS, {"bbka-delta-gpu": 5e6, "bbka-delta-cpu": -12000.5}, 0),
    ("mybalance", MYBALANCE, {"cis250223": 8986.1, "cis250223-gpu": 1000.0}, 0),
    ("sbank", SBANK, {"neutrinos": 231.9, "Catalysts": 135758.5}, 0),
    ("taccinfo", TACCINFO, {"A-ccsc": 342808.0, "A-cciq": 4828.0}, 1),
]


@pytest.mark.parametrize(("form", "text", "accounts", "unreadable"), ANSWERS)
def test_a_documented_answer_is_read(form, text, accounts, unreadable):
    rows = read_balances(form, text)
    assert rows is not None
    assert dict(rows.accounts) == accounts
    assert len(rows.unreadable) == unreadable


@pytest.mark.parametrize(("form", "text", "accounts", "unreadable"), ANSWERS)
def test_a_banner_before_it_changes_nothing(form, text, accounts, unreadable):
    banner = "*** Scheduled maintenance: 2026-12-01 ***\n------ -----\nhome 12345\n\n"
    rows = read_balances(form, banner + text)
    assert rows is not None
    assert dict(rows.accounts) == accounts


@pytest.mark.parametrize("form", [form for form, *_ in ANSWERS])
@pytest.mark.parametrize("text", ["", "accounts: command not found\n", "Project  Balance\n"])
def test_no_table_is_no_answer_and_not_an_empty_one(form, text):
    assert read_balances(form, text) is None


@given(st.sampled_from([form for form, *_ in ANSWERS]), st.text(max_size=300))
def test_any_text_is_read_or_left(form, text):
    rows = read_balances(form, text)
    assert rows is None or all(isinstance(left, float) for _, left in rows.accounts)
