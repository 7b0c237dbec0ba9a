"""The whole room in a real kernel: what a front end is sent, and when."""

from __future__ import annotations

import json
import threading

import pytest

from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.group import Group, MemberSummary
from jupyter_diamond.model.manifest import CellError
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.notebook.outputs import SLOTS

from .rest_server import now

SUBMIT = "%%diamond_submit fit --cpus 2-4 --time 10m --in x --out model,scores\nmodel = x + 1\nscores = {'r2': 1}"
CARD = "application/vnd.jupyter-diamond.card+json"
WIDGET = "application/vnd.jupyter.widget-view+json"


AWAIT = """
import asyncio
async def tick():
    await asyncio.sleep(0.05)
    print("the loop turns", flush=True)
turning = asyncio.create_task(tick())
print((await fit)["model"])
"""


def card_id(ran) -> str:
    return ran.displays[0]["transient"]["display_id"]


def states(kernel, display: str) -> list[str]:
    return [u["data"]["text/html"].split('data-state="')[1].split('"')[0] for u in kernel.updates(display)]


def test_a_cell_comes_back_as_if_it_had_run_here(kernel, rest):
    ran = kernel.ok(SUBMIT)
    display = card_id(ran)
    assert [d["transient"]["display_id"] for d in ran.displays] == [display, *(f"{display}-{n}" for n in range(SLOTS))]
    assert set(ran.displays[0]["data"]) == {CARD, WIDGET, "text/html", "text/plain"}
    assert ran.displays[0]["data"][CARD] == {"task": rest.pool.named("fit").id}
    assert all(d["data"] == {} for d in ran.displays[1:])
    request = rest.pool.requests[rest.pool.named("fit").id]
    assert request.envelope.cpus.max == 4
    assert request.outputs == ("model", "scores")
    assert [c.name for c in request.captured] == ["x"]
    assert request.cwd == kernel.ok("import os; print(os.getcwd())").stdout.strip()
    rest.pool.start("fit")
    figure = {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": "<Figure>"}, "metadata": {}}
    rest.pool.finish(
        "fit",
        {"model": 4, "scores": {"r2": 1}},
        outputs=[{"output_type": "stream", "name": "stdout", "text": "hello\n"}, figure],
    )
    kernel.until(lambda: kernel.updates(f"{display}-1"), what="the figure in its place")
    assert kernel.updates(f"{display}-0")[0]["data"] == {"text/plain": "hello"}
    assert kernel.updates(f"{display}-1")[0]["data"]["image/png"] == "aGk="
    assert kernel.updates(f"{display}-2") == []
    kernel.until(lambda: states(kernel, display)[-1:] == ["completed"], what="the folded card")
    folded = kernel.updates(display)[-1]["data"]
    assert set(folded) == {"text/html", "text/plain"}
    assert "✓ succeeded" in folded["text/plain"]
    assert kernel.ok("print(model, scores, fit.result())").stdout == "4 {'r2': 1} {'model': 4, 'scores': {'r2': 1}}\n"


@pytest.mark.parametrize(("line", "cell", "said"), [
    ("--segments 5", "print(1)", "--segments 5, but nothing in the cell saves a checkpoint"),
    ("--segments 5", "from jupyter_diamond import checkpoint\ncheckpoint.leave()", ""),
    ("", "from jupyter_diamond import checkpoint\ncheckpoint.leave()", "without --segments 5 nothing would go on"),
    ("--lang bash", "exit $DIAMOND_CONTINUE", "without --segments 5 nothing would go on"),
    ("", "print(1)", ""),
])  # fmt: skip
def test_segments_without_checkpoints_are_told_before_they_cost_anything(asking_kernel, line, cell, said):
    ran = asking_kernel.ok(f"%%diamond_submit fit --dry-run {line}\n{cell}")
    assert said in ran.stdout
    assert ("segment" in ran.stdout) is bool(said)


def test_the_card_moves_while_a_later_cell_runs(kernel, rest):
    display = card_id(kernel.ok(SUBMIT))
    busy = kernel.send("import time\nwhile 'model' not in globals(): time.sleep(0.01)\nprint('seen', model)")
    rest.pool.start("fit")
    rest.pool.log("fit", "epoch 1\n")
    kernel.until(
        lambda: any(m["content"]["data"].get("state", {}).get("log") == "epoch 1" for m in kernel.comm_messages()),
        what="the log",
    )
    views = [
        m["content"]["data"]["state"]["view"]
        for m in kernel.comm_messages()
        if "view" in m["content"]["data"].get("state", {})
    ]
    assert views[-1]["word"] == "running"
    assert len(views[-1]["candidates"]) == 3
    rest.pool.finish("fit", {"model": 4, "scores": 0})
    assert kernel.finish(busy).stdout == "seen 4\n"
    kernel.until(lambda: states(kernel, display)[-1:] == ["completed"])


def test_updates_are_not_swallowed_by_a_cell_that_captures_its_output(kernel, rest):
    display = card_id(kernel.ok(SUBMIT))
    busy = kernel.send("%%capture\nimport time\nwhile 'model' not in globals(): time.sleep(0.01)\ntime.sleep(0.3)")
    rest.pool.finish("fit", {"model": 4, "scores": 0})
    kernel.finish(busy)
    kernel.until(lambda: states(kernel, display)[-1:] == ["completed"])


def test_waiting_for_a_result_leaves_a_folded_card_behind(kernel, rest):
    """What nbclient keeps are the messages of the cell that runs: they must be sent before it ends."""
    display = card_id(kernel.ok(SUBMIT))
    message = kernel.send("fit.result(timeout=20)")
    rest.pool.return_result(
        "fit", {"model": 4, "scores": 0}, outputs=[{"output_type": "stream", "name": "stdout", "text": "hello\n"}]
    )
    ran = kernel.finish(message)
    updated = {m["content"]["transient"]["display_id"] for m in ran.messages if m["msg_type"] == "update_display_data"}
    assert {display, f"{display}-0"} <= updated


def test_a_failed_cell_shows_its_traceback_and_raises_it_without_frames_of_ours(kernel, rest):
    display = card_id(kernel.ok(SUBMIT))
    lines = ["  In[3], line 1", "    model = y", "NameError: name 'y' is not defined"]
    error = CellError(ename="NameError", evalue="name 'y' is not defined", traceback=tuple(lines))
    rest.pool.finish(
        "fit", error=error, outputs=[{"output_type": "error", "ename": "NameError", "evalue": "", "traceback": lines}]
    )
    ran = kernel.run("fit.result(timeout=20)")
    assert ran.status == "error"
    assert "    model = y" in ran.error
    assert "jupyter_diamond/" not in ran.error
    kernel.until(lambda: states(kernel, display)[-1:] == ["failed"])
    assert "model = y" in kernel.updates(f"{display}-0")[0]["data"]["text/plain"]
    assert kernel.run("%diamond result fit").error.count("model = y") == 1


def test_the_same_cell_again_is_attached_not_sent_twice(kernel, rest):
    kernel.ok(SUBMIT)
    ran = kernel.ok(SUBMIT)
    assert "nothing was sent" in ran.stdout
    assert "%%diamond_submit fit --again" in ran.stdout
    assert len(rest.pool.tasks) == 1
    kernel.ok(SUBMIT.replace("fit", "fit --again", 1))
    assert len(rest.pool.tasks) == 2


def test_another_kernel_gets_the_same_task_with_its_outputs(kernel, rest):
    kernel.ok(SUBMIT)
    rest.pool.finish(
        "fit", {"model": 4, "scores": 0}, outputs=[{"output_type": "stream", "name": "stdout", "text": "hello\n"}]
    )
    kernel.ok("fit.wait(20)")
    kernel.ok("%reset -f\nfrom jupyter_diamond.notebook import session; session.end()\nimport jupyter_diamond")
    ran = kernel.ok("again = jupyter_diamond.task('fit')\nagain")
    display = card_id(ran)
    assert WIDGET not in ran.displays[0]["data"]
    assert "✓ succeeded" in kernel.updates(display)[-1]["data"]["text/plain"]
    assert kernel.updates(f"{display}-0")[0]["data"] == {"text/plain": "hello"}
    assert kernel.ok("print(again.result())").stdout == "{'model': 4, 'scores': 0}\n"


def test_awaiting_works_in_the_kernels_own_loop(kernel, rest):
    kernel.ok(SUBMIT)
    message = kernel.send(AWAIT)
    kernel.until(
        lambda: any(m["msg_type"] == "stream" and "the loop turns" in m["content"]["text"] for m in kernel.seen)
    )
    rest.pool.finish("fit", {"model": 4, "scores": 0})
    assert kernel.finish(message).stdout == "the loop turns\n4\n"


def test_a_dry_run_shows_what_would_travel_and_sends_nothing(asking_kernel, asked_only):
    ran = asking_kernel.ok(SUBMIT.replace("fit", "fit --dry-run", 1))
    shown = "\n".join(d["data"]["text/plain"] for d in ran.displays)
    assert "fit was not sent" in shown
    assert shown.count("starts soonest of 2 feasible") == 1
    assert "travels as" in shown
    assert asked_only.pool.tasks == {}
    assert asking_kernel.ok("print('fit' in globals())").stdout == "False\n"


@pytest.mark.parametrize(
    ("line", "cell", "sentence"),
    [
        ("fit --cpu 2", "z = 1", "UsageError: %%diamond_submit has no option --cpu; did you mean --cpus?"),
        ("fit --cpus 500", "z = 1", "UsageError: No site has a node with 500 CPUs; the largest has 128, at delta."),
        ("x", "z = 1", "UsageError: `x` is a variable of this notebook (int)"),
        ("fit", "z = not_defined_anywhere", "`not_defined_anywhere`"),
        ("fit", "import not_at_the_site", "`not_at_the_site`, which /usr/bin/python3 at delta does not have"),
    ],
)
def test_a_refusal_is_one_message_and_leaves_nothing_behind(asking_kernel, asked_only, line, cell, sentence):
    asked_only.pool.missing_modules = ("not_at_the_site",)
    ran = asking_kernel.run(f"%%diamond_submit {line}\n{cell}")
    assert ran.status == "error"
    assert sentence in ran.everything
    assert "Traceback" not in ran.everything
    assert ran.displays == []
    assert asked_only.pool.tasks == {}


def test_an_absent_server_is_one_sentence(kernel, rest):
    rest.stop()
    ran = kernel.run(SUBMIT)
    assert "UsageError: The Jupyter server at http://127.0.0.1" in ran.everything
    assert "Traceback" not in ran.everything


def test_tables_texts_and_help(kernel, rest):
    kernel.ok(SUBMIT)
    rest.pool.start("fit")
    rest.pool.log("fit", "one\ntwo\n")
    tasks = kernel.ok("t = %diamond tasks\nprint(type(t).__name__, list(t.index), t.loc['fit', 'state'])").stdout
    assert tasks == "DataFrame ['fit'] running\n"
    assert (
        kernel.ok("s = %diamond sites\nprint(s.loc['vista', 'free cpus'], s.loc['delta', 'free gpus'].tolist())").stdout
        == "<NA> [6, 6]\n"
    )
    past = kernel.ok(
        "h = %diamond history delta --hours 2\nprint(h.free.tolist(), h.pending.tolist(), list(h.partition), h.index.tz)"
    ).stdout
    assert past == "[6.0, <NA>] [14.0, 0.0] ['gpuA100x4', 'gpuA100x4'] UTC\n"
    assert "no site 'nope'" in kernel.run("%diamond history nope").everything
    figure = "w = %diamond history delta --pending --partition gpuA100x4\nprint(type(w).__name__, w.layout.title.text)"
    assert kernel.ok(figure).stdout == "Figure delta:gpuA100x4, jobs that wait, by weekday and hour\n"
    found = kernel.ok(
        "f = %diamond forecast\nprint(f['starts'].tolist(), f['error s'].tolist(), f.loc['delta', 'by'], list(f.index))"
    ).stdout
    assert found == "[9, 0] [40.0, <NA>] replay 9 ['delta', 'vista']\n"
    found = kernel.ok(
        "c = %diamond charges --days 30\nprint(c['unit'].tolist(), c['actual'].tolist(), c.loc['delta', 'balance age'])"
    )
    assert found.stdout == "['GPU-hour', '?'] [0.5, <NA>] 5 min\n"
    (shown,) = [each["data"]["text/plain"] for each in found.displays]
    assert shown == (
        "Cap of 10 GPU-hours in 24 hours (c.DiamondBudget.per_day): 0.5 GPU-hours spent, 2 GPU-hours reserved; "
        "7.5 GPU-hours left."
    )
    assert kernel.ok("print(fit.charge, fit.charge.actual)").stdout == "nothing: nobody is charged for it there 0\n"
    attempts = kernel.ok("t = %diamond charges --tasks\nprint(t['reserved'].tolist(), t['actual'].tolist())").stdout
    assert attempts == "[2.0] [<NA>]\n"
    assert "attempt.state_changed" in kernel.ok("%diamond events fit").result
    assert "task.created" in kernel.ok("%diamond events").result
    assert kernel.ok("%diamond logs fit").result == "one\ntwo"
    assert kernel.ok("%diamond logs fit --tail 1").result == "two"
    assert kernel.ok("%diamond explain fit").result.startswith("starts soonest of 2 feasible")
    assert kernel.ok("t = %diamond explain fit --as table\nprint(list(t.index))").stdout == (
        "['delta:gpuA100x4', 'delta:cpu', 'vista:gh']\n"
    )
    assert kernel.ok(
        "t = %diamond explain fit --as text\nprint(type(t).__name__, t == diamond.explain('fit'))"
    ).stdout == ("Text True\n")
    assert "jd-explain" in kernel.ok("print(fit.explain()._repr_html_())").stdout
    assert "%diamond tasks" in kernel.ok("%diamond").result
    assert "--follow" in kernel.ok("%diamond logs ?").result
    assert "did you mean %diamond logs?" in kernel.run("%diamond lgos fit").everything
    assert "no task named 'nope'" in kernel.run("%diamond task nope").everything
    assert "fit" in kernel.ok("%diamond task fit").displays[0]["data"]["text/plain"]
    assert "attempt 1  delta" in kernel.ok("print(fit.timeline())").stdout
    kernel.ok("%diamond hold fit")
    assert kernel.ok("print(fit.task.held_by)").stdout == "you\n"
    kernel.ok("%diamond release fit")
    assert kernel.ok("print(fit.task.held_by)").stdout == "None\n"
    assert "--unpin" in kernel.ok("%diamond replan ?").result
    kernel.ok("%diamond cancel fit")
    kernel.ok("fit.wait(20)")
    assert kernel.ok("print(fit.state.value)").stdout == "cancelled\n"
    documentation = kernel.ok("get_ipython().run_line_magic('pinfo', '%%diamond_submit')")
    assert documentation.status == "ok"


def test_tab_completes_commands_names_sites_and_options(kernel, rest):
    kernel.ok(SUBMIT)
    grid = Group(id="g0", name="grid", phase=Phase.RUNNING, members=2, created_at=now(), envelope=Envelope())
    members = [
        MemberSummary(id=f"g0-{n}", name=f"grid[{n}]", index=n, state=state, phase=state.phase, created_at=now())
        for n, state in enumerate([State.COMPLETED, State.FAILED])
    ]
    rest.pool.groups["grid"] = grid, members
    assert {"sites", "tasks", "logs", "explain"} <= set(kernel.complete("%diamond "))
    assert kernel.complete("%diamond expl") == ["explain"]
    assert kernel.complete("%diamond logs f") == ["fit"]
    assert "--follow" in kernel.complete("%diamond logs fit --f")
    assert kernel.complete("%diamond logs g") == ["grid"]
    assert kernel.complete("%diamond logs grid[") == ["1]", "0]"], "what went wrong first"
    kernel.ok("runs, other = [{'lr': 1}], [1, 2]")
    assert kernel.complete("%%diamond_submit fit --sweep ") == ["runs"]
    assert kernel.complete("%%diamond_submit fit --next-round e") == ["ended"]
    assert kernel.complete("%%diamond_submit fit --cp") == ["--cpus"]
    assert kernel.complete("%%diamond_submit fit --site del") == ["delta", "delta:gpuA100x4"]
    assert kernel.complete("%%diamond_submit fit --site delta:gp") == ["gpuA100x4"]
    assert kernel.complete("%%diamond_submit fit --lang ba") == ["bash"]
    rest.stop()
    assert "--tail" in kernel.complete("%diamond logs fit --t")


def test_the_cards_cancel_button_reaches_the_server(kernel, rest):
    ran = kernel.ok(SUBMIT)
    model = ran.displays[0]["data"][WIDGET]["model_id"]
    message = kernel.client.session.msg(
        "comm_msg", {"comm_id": model, "data": {"method": "custom", "content": {"kind": "cancel"}}}
    )
    kernel.client.shell_channel.send(message)
    kernel.ok("fit.wait(20)")
    assert rest.pool.named("fit").state is State.CANCELLED


def test_a_reopened_card_gets_the_outputs_when_it_asks(kernel, rest):
    ran = kernel.ok(SUBMIT)
    model = ran.displays[0]["data"][WIDGET]["model_id"]
    output = {"output_type": "stream", "name": "stdout", "text": "hello\n"}
    rest.pool.finish("fit", {"model": 4, "scores": 0}, outputs=[output])
    kernel.ok("fit.wait(20)")
    assert not any(m["content"]["data"].get("state", {}).get("outputs") for m in kernel.comm_messages())
    message = kernel.client.session.msg(
        "comm_msg", {"comm_id": model, "data": {"method": "custom", "content": {"kind": "outputs"}}}
    )
    kernel.client.shell_channel.send(message)
    kernel.until(
        lambda: any(m["content"]["data"].get("state", {}).get("outputs") == [output] for m in kernel.comm_messages())
    )


def test_a_saved_notebook_holds_no_widget_once_the_task_has_ended(rest, tmp_path, monkeypatch):
    """nbclient as the front end: the notebook it saves reads without a kernel."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    from .live_kernel import ROOT, sockets
    from .rest_server import TOKEN

    for name, value in (
        ("DIAMOND_SERVER_URL", rest.url),
        ("DIAMOND_SERVER_TOKEN", TOKEN),
        ("PYTHONPATH", str(ROOT)),
        ("IPYTHONDIR", str(tmp_path)),
    ):
        monkeypatch.setenv(name, value)
    cells = ["%load_ext jupyter_diamond\nx = 3", SUBMIT, "fit.wait(30)", "model"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])

    def drive():
        rest.pool.wait_for("fit", 60)
        rest.pool.start("fit")
        rest.pool.finish(
            "fit", {"model": 4, "scores": 0}, outputs=[{"output_type": "stream", "name": "stdout", "text": "hello\n"}]
        )

    driver = threading.Thread(target=drive)
    driver.start()
    resources, config = {"metadata": {"path": str(tmp_path)}}, Config({"KernelManager": sockets()})
    NotebookClient(notebook, timeout=60, kernel_name="python3", resources=resources, config=config).execute()
    driver.join()
    nbformat.validate(notebook)
    outputs = notebook.cells[1].outputs
    assert WIDGET not in json.dumps(outputs)
    assert "✓ succeeded" in outputs[0].data["text/plain"]
    assert outputs[1].data["text/plain"] == "hello"
    assert notebook.cells[3].outputs[0].data["text/plain"] == "4"


def test_a_batch_script_becomes_the_next_cell(asking_kernel, asked_only, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n#SBATCH -c 2 --gres=gpu:a100:1 -p gpu --array=1-3\nhostname\n")
    ran = asking_kernel.ok(f"%diamond import {script} --site delta")
    assert "--array=1-3" in ran.result
    assert "unsupported" in ran.result
    (put,) = [each for each in ran.payload if each["source"] == "set_next_input"]
    assert put["text"] == (
        "%%diamond_submit job --lang bash --cpus 2 --gpus 1 --gpu-model a100 --site delta:gpu\nhostname\n"
    )
    assert asked_only.pool.requests == {}, "nothing is sent"
    gone = asking_kernel.run("%diamond import gone.sh")
    assert "UsageError: There is no file gone.sh" in gone.everything


def test_a_kind_of_gpu_that_nobody_has_is_answered_with_the_nearest(asking_kernel, asked_only):
    ran = asking_kernel.run("%%diamond_submit fit --gpus 1 --gpu-model a101\n1")
    assert "no GPU 'a101' is known, and none of your sites has one; did you mean a100?" in ran.everything
    assert asked_only.pool.requests == {}
    assert asking_kernel.complete("%%diamond_submit fit --objective low") == ["lowest_cost"]
