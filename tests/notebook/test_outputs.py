from __future__ import annotations

from jupyter_diamond.notebook.outputs import bundles


def stream(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def display(**data: object) -> dict:
    return {
        "output_type": "display_data",
        "data": {k.replace("_", "/"): v for k, v in data.items()},
        "metadata": {"m": 1},
    }


def test_neighbouring_streams_become_one_text_in_order():
    made = bundles((stream("a\n"), stream("b\n", "stderr"), display(text_plain="fig"), stream(["c\n", "d\n"])))
    assert [bundle.data["text/plain"] for bundle in made] == ["a\nb", "fig", "c\nd"]


def test_rich_outputs_pass_as_they_are():
    made = bundles((display(image_png="aGk=", text_plain="<Figure>"),))
    assert made[0] == ({"image/png": "aGk=", "text/plain": "<Figure>"}, {"m": 1})


def test_a_widget_of_the_site_is_shown_as_text_because_its_kernel_is_gone():
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "IntSlider"}
    made = bundles(({"output_type": "display_data", "data": view, "metadata": {}},))
    assert made[0].data == {"text/plain": "IntSlider"}


def test_a_progress_bar_keeps_its_last_state():
    assert bundles((stream("10%\r50%\r100%\ndone\n"),))[0].data["text/plain"] == "100%\ndone"


def test_an_error_is_escaped_html_and_plain_text_without_colours():
    error = {"output_type": "error", "ename": "E", "evalue": "<b>", "traceback": ["\x1b[31mIn[4]\x1b[0m", "E: <b>"]}
    data = bundles((error,))[0].data
    assert data["text/plain"] == "In[4]\nE: <b>"
    assert "E: &lt;b&gt;" in data["text/html"]


def test_nothing_shown_takes_no_place():
    assert bundles((stream("\n"), display())) == []


def test_more_outputs_than_places_share_the_last_one():
    outputs = [display(text_plain=f"{n}", text_html=f"<i>{n}</i>") for n in range(6)]
    outputs += [display(image_png="aGk=", text_plain="fig"), stream("<script>alert(1)</script>\n")]
    made = bundles(tuple(outputs), places=4)
    assert len(made) == 4
    assert [bundle.data["text/plain"] for bundle in made[:3]] == ["0", "1", "2"]
    assert made[3].data["text/plain"].split("\n")[:3] == ["3", "4", "5"]
    html = made[3].data["text/html"]
    assert (
        html.index("<i>3</i>")
        < html.index("<i>5</i>")
        < html.index("data:image/png;base64,aGk=")
        < html.index("&lt;script")
    )
    assert "<script" not in html
