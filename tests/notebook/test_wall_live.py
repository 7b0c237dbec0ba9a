"""The wall and the idle finder in a real kernel, over a REST server that a test drives."""

from __future__ import annotations

import time

WIDGET = "application/vnd.jupyter.widget-view+json"


def patches(kernel):
    return [
        message["content"]["data"]["content"]
        for message in kernel.comm_messages()
        if message["content"]["data"].get("method") == "custom"
    ]


def test_the_wall_stands_as_widget_as_table_and_as_text(kernel):
    (shown,) = kernel.ok("%diamond wall").displays
    assert set(shown["data"]) == {WIDGET, "text/html", "text/plain"}
    assert "delta" in shown["data"]["text/plain"]
    assert "<table>" in shown["data"]["text/html"]
    opened = [m for m in kernel.seen if m["msg_type"] == "comm_open"]
    state = next(m["content"]["data"]["state"] for m in opened if "wall" in m["content"]["data"]["state"])
    assert state["wall"]["order"] == ["delta", "vista"], "a page that opens the wall gets all of it"


def test_a_second_wall_is_the_same_widget(kernel):
    first = kernel.ok("%diamond wall").displays[0]["data"][WIDGET]["model_id"]
    assert kernel.ok("%diamond wall").displays[0]["data"][WIDGET]["model_id"] == first


def test_what_is_new_arrives_while_a_cell_runs(rest, kernel, tmp_path):
    kernel.ok("%diamond wall")
    gate = tmp_path / "gate"
    busy = kernel.send(
        f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.05)\nprint('done')"
    )
    kernel.until(lambda: any(m["parent_header"].get("msg_id") == busy for m in kernel.seen))
    rest.pool.read_anew(gpus_free=1)
    told = kernel.until(lambda: patches(kernel), 20, "a patch during the cell")
    assert list(told[0]["sites"]) == ["delta"]
    assert told[0]["sites"]["delta"]["gpus_free"] == 1
    gate.touch()
    assert "done" in kernel.finish(busy).stdout


def test_a_storm_of_readings_is_sent_at_most_twice_a_second(rest, kernel):
    kernel.ok("%diamond wall")
    started = time.monotonic()
    for n in range(60):
        rest.pool.read_anew(pending=n)
        kernel.updates("none")  # reads what has come
        time.sleep(0.03)
    kernel.until(
        lambda: any(told["sites"]["delta"]["pending"] == 59 for told in patches(kernel)), 5, "the last reading"
    )
    assert len(patches(kernel)) <= 2 * (time.monotonic() - started) + 2


def test_a_silent_server_is_said_and_the_numbers_stay(rest, kernel):
    kernel.ok("%diamond wall")
    rest.stop()
    told = kernel.until(lambda: [each for each in patches(kernel) if each["strip"]["trouble"]], 20, "the trouble")
    assert "has not answered since" in told[0]["strip"]["trouble"]
    assert "sites" not in told[0]


def test_idle_gives_a_table_and_names_what_is_not_known(kernel):
    ran = kernel.ok(
        "places = %diamond idle --cpus 2\nprint(type(places).__name__, list(places.columns)[:3])\nprint(places.attrs)"
    )
    assert "DataFrame" in ran.stdout
    assert "unknown" in ran.stdout
    refused = kernel.run("%diamond idle --gpus many")
    assert "UsageError: --gpus" in refused.everything
    assert "Traceback" not in refused.everything
