"""Tables, arrays, figures, rich displays, foreign text and very much text come back as they were."""

from __future__ import annotations

TABLES = """
import numpy as np, pandas as pd
base = pd.DataFrame({"i": np.arange(3), "f": [1.5, 2, 3], "s": ["a", "ü", "c"], "d": pd.date_range("2020", periods=3)})
tables = dict(
    base=base, sliced=base.iloc[::2], reversed_=base.iloc[::-1], empty=pd.DataFrame(), no_rows=base.iloc[:0],
    indexed=base.set_index(pd.Index([3, 1, 2], name="id")), dates=base.set_index("d"), named=base.rename_axis("id"),
    step=base.set_index(pd.RangeIndex(10, 16, 2)), names=base.rename_axis("cc", axis=1),
    freq=pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2021", periods=2, freq="D")),
    numbers=pd.DataFrame(np.arange(6).reshape(2, 3)), twins=pd.DataFrame([[1, 2]], columns=["a", "a"]),
    small=pd.DataFrame({"a": np.array([1, 2], "f2"), "b": np.array([1, 255], "u1")}),
    odd=pd.DataFrame({"c": pd.Categorical(["x", "y", "x"], ordered=True), "I": pd.array([1, None, 3], dtype="Int64"),
        "o": [[1], {2: 3}, None], "t": pd.to_timedelta([1, 2, 3], "s"), "q": pd.array(["q", None, "z"], dtype="string"),
        "z": pd.date_range("2020", periods=3, tz="Europe/Berlin")},
        index=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["k", None])),
    text=pd.DataFrame({"ключ": ["\\U0001f600", "\\x00nul", ""], "n": ["a", np.nan, None]}),
    gaps=pd.DataFrame({"d": pd.to_datetime(["2020", None]), "f": [np.inf, np.nan]}),
)
tables["odd"].attrs["unit"] = "K"
for name, table in tables.items():
    globals()["t_" + name] = table
"""
COMPARE = """
for name, table in tables.items():
    back = globals()["b_" + name]
    pd.testing.assert_frame_equal(table, back, check_exact=True, check_freq=True, check_flags=True,
                                  check_index_type="exact", check_column_type="exact")
    assert table.attrs == back.attrs and type(table.index) is type(back.index), name
    assert [str(d) for d in table.dtypes] == [str(d) for d in back.dtypes], name
"""


def test_a_table_comes_back_exactly(nb):
    nb.run(TABLES)
    names = nb.value("list(tables)")
    cell = "\n".join(f"b_{name} = t_{name}" for name in names)
    nb.submit(f"exact --out {','.join('b_' + name for name in names)}", cell)
    nb.run(COMPARE)


def test_plain_tables_come_back_as_parquet_where_the_kernel_reads_it(nb, workdir):
    nb.run(TABLES)
    nb.submit("plain --out b", "b = t_base")
    folder = nb.value("plain.task.attempt.folder")
    assert folder.startswith(str(workdir))
    assert nb.value("[v.codec for v in plain._following.result.manifest.values]") == ["parquet"]


def test_a_hundred_megabytes_come_when_the_rest_is_here_already(nb):
    ran = nb.submit("array --out big,small", "import numpy as np\nbig = np.arange(12_500_000, dtype='f8')\nsmall = 1")
    assert nb.value("small") == 1
    assert "small" in ran.cards[0]
    assert nb.run("b = array.result('big'); print(b.nbytes, b[-1], b.dtype)").text == "100000000 12499999.0 float64"
    nb.run("del big, b, array")


FIGURES = """
import matplotlib.pyplot as plt, warnings
from IPython.display import display, HTML
fig, ax = plt.subplots()
ax.plot([1, 2])
class Rich:
    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"application/vnd.plotly.v1+json": {"data": [{"y": [1, float("nan")]}], "layout": {}},
                "text/html": "<b>hi</b>", "text/plain": "RICH"}
        return data, {"text/html": {"isolated": True}}
display(Rich())
display(HTML("<i>x</i>"))
warnings.warn("careful")
fig
"""


def test_displays_stand_below_the_card_as_if_made_here(nb):
    ran = nb.submit("figures", FIGURES)
    rich, html, warning, figure = (output for output in ran.shown)
    assert rich["data"]["application/vnd.plotly.v1+json"] == {"data": [{"y": [1, None]}], "layout": {}}
    assert rich["metadata"] == {"text/html": {"isolated": True}}
    assert html["data"]["text/html"] == "<i>x</i>"
    assert warning["data"]["text/plain"].startswith("cell figures:13: UserWarning: careful")
    assert figure["data"]["image/png"].startswith("iVBOR")


NASTY = "<script>alert(1)</script> </pre></div> &amp; \\x1b[31mred\\x1b[0m \\x07 \\x1b]8;;http://x\\x07link \\r\\x00 ü \\ud800"


def test_foreign_text_breaks_no_card_no_table_and_no_json(nb):
    ran = nb.run(f"%%diamond_submit nasty --wait\nprint('{NASTY}')\nraise ValueError('{NASTY}')")
    nb.run("%diamond tasks")
    html = next(o["data"]["text/html"] for o in ran.outputs if "jd-card" in str(o.get("data", {}).get("text/html")))
    assert "<script>" not in html
    assert "\x1b" not in html
    assert "\x00" not in html
    assert "&lt;script&gt;" in html
    card = ran.cards[0]
    assert "✗ failed" in card
    assert not set(card) & set("\x1b\x07\x00\r")
    assert "red" in nb.run("print(nasty.logs())").text
    (row,) = [task for task in nb.server.api("GET", "tasks")["tasks"] if task["name"] == "nasty"]
    assert row["cause"].startswith("ValueError: <script>")


def test_fifty_megabytes_of_print_do_not_fill_the_page(nb):
    ran = nb.submit("chatty", "for i in range(500_000): print(f'{i:099}')")
    text = ran.shown[0]["data"]["text/plain"]
    assert len(text) < 250_000
    assert text.startswith(f"{0:099}\n{1:099}")
    assert "characters are left out here; the task's log has them" in text
    assert "The cell's output was too long and is cut; the log has all of it." in ran.cards[0]
    assert nb.run("print(chatty.logs(tail=2))").text == f"{499_998:099}\n{499_999:099}"
    whole = nb.run("t = chatty.logs(); print(len(t), t[-100:])").text
    assert whole.endswith(f"{499_999:099}")
