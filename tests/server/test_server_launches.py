"""The launch sheet's routes, checked against openapi.yaml."""

from __future__ import annotations

from jupyter_diamond.model.envelope import Span

TOKEN = "0123456789abcdef"


async def test_fields_are_read_as_a_line_and_an_envelope(ask, service):
    form = {"name": "fit", "outputs": "model, scores", "options": {"gpus": "1-4", "time": "90m", "site": "alpha"}}
    got = (await ask("POST", "launch/line", form=form)).json
    assert got["line"] == "%%diamond_submit fit --out model,scores --gpus 1-4 --time 1h30m --site alpha"
    assert got["envelope"]["gpus"] == {"min": 1, "max": 4}
    assert got["problems"] == {}


async def test_what_is_wrong_stands_at_its_field(ask, service):
    form = {"name": "a b", "outputs": "a b", "options": {"gpus": "many", "time": "2 parsecs", "soft": "deadline"}}
    got = (await ask("POST", "launch/line", form=form)).json
    assert (got["line"], got["envelope"]) == ("", None)
    assert set(got["problems"]) == {"name", "outputs", "gpus", "time", "soft"}
    assert got["problems"]["gpus"].startswith("--gpus: 'many' is not a count.")
    got = (await ask("POST", "launch/line", form={"name": "", "options": {"site": "beta", "sites": "beta"}})).json
    assert got["problems"]["site"] == got["problems"]["sites"] == "There is no site 'beta'; the sites are: alpha."
    assert got["problems"]["name"].startswith("Give it a name")
    got = (await ask("POST", "launch/line", form={"name": "1x", "options": {"cpus": "2"}})).json
    assert got["envelope"]["cpus"] == {"min": 2, "max": 2}, "where it would go does not hang on its name"


async def test_a_file_of_requirements_is_a_cell_s(ask, service):
    form = {"name": "fit", "options": {"env": "requirements.txt"}}
    got = (await ask("POST", "launch/line", form=form)).json
    assert (got["line"], got["envelope"]["env"]) == ("%%diamond_submit fit --env requirements.txt", None)
    got = (await ask("POST", "launch/line", form={**form, "in_cell": False})).json
    assert "name an environment of the site" in got["problems"]["env"]


async def test_text_is_taken_once_as_it_is(ask, service):
    form = {"client_token": TOKEN, "name": "train", "source": "echo hello\n", "language": "bash", "path": "a/train.sh",
            "envelope": {"cpus": {"min": 2, "max": 2}}}  # fmt: skip
    first = await ask("POST", "launch", form=form)
    again = await ask("POST", "launch", form=form)
    assert (first.code, again.code) == (201, 200)
    task = service.store.task(first.json["task"]["id"])
    assert (task.id, task.name, task.source) == (again.json["task"]["id"], "train", "echo hello\n")
    assert (task.language, task.notebook.path, task.envelope.cpus) == ("bash", "a/train.sh", Span.exactly(2))


async def test_text_that_cannot_run_by_itself_is_refused(ask, service):
    form = {"client_token": TOKEN, "name": "fit", "source": "model = train(x)\n", "envelope": {}}
    got = await ask("POST", "launch", form=form)
    assert got.code == 400
    assert "runs by itself, without the user's notebook" in got.json["message"]
    got = await ask("POST", "launch", form={**form, "source": "model = 1", "name": "for"})
    assert (got.code, got.json["message"][:30]) == (400, "`for` is a word of Python's own"[:30])
    assert service.store.newest_event() == 0
