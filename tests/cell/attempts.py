"""Makes real attempt folders and runs the real runner in them, as a job script would."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_diamond.cell import codecs
from jupyter_diamond.cell.result import load_value
from jupyter_diamond.cell.runner import SOURCE
from jupyter_diamond.cell.spec import PackedValue, Spec, Statement
from jupyter_diamond.model.manifest import EndFile, Manifest, Output, ResultFile

TOKEN = "dmd-0123456789ab"
KEY = "ab" * 32


@dataclass
class Attempt:
    folder: Path
    digest: str
    log: str = ""
    exit_code: int | None = None
    options: list[str] = field(default_factory=list)

    def argv(self, python: str = sys.executable) -> list[str]:
        return [python, "runner.py", "--token", TOKEN, "--bundle-sha256", self.digest, *self.options]

    def start(self, *, python: str = sys.executable, env: dict[str, str] | None = None, prefix: tuple[str, ...] = ()):
        log = (self.folder / "job.out").open("wb")
        with log:
            return subprocess.Popen(
                [*prefix, *self.argv(python)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
            )

    def run(self, **how) -> Attempt:
        process = self.start(**how)
        self.exit_code = process.wait(60)
        self.log = (self.folder / "job.out").read_text()
        return self

    @property
    def manifest(self) -> Manifest:
        data = (self.folder / "manifest.json").read_bytes()
        assert hashlib.sha256(data).hexdigest() == self.end.manifest_sha256
        return Manifest.model_validate_json(data)

    @property
    def end(self) -> EndFile:
        end = EndFile.model_validate_json((self.folder / "end.json").read_bytes())
        assert end.token == TOKEN
        return end

    @property
    def files(self) -> tuple[ResultFile, ...]:
        return self.manifest.values

    @property
    def outputs(self) -> list[dict]:
        lines = (self.folder / "outputs.jsonl").read_text().splitlines()
        for line in lines:
            Output.model_validate_json(line)
        return [json.loads(line) for line in lines]

    @property
    def streams(self) -> list[tuple[str, str]]:
        return [(o["name"], o["text"]) for o in self.outputs if o["output_type"] == "stream"]

    @property
    def stdout(self) -> str:
        return "".join(text for name, text in self.streams if name == "stdout")

    def value(self, name: str):
        (file,) = [v for v in self.files if v.name == name]
        return load_value(file, (self.folder / file.file).read_bytes(), KEY)

    def error(self) -> tuple[str, str]:
        error = self.manifest.error
        assert error is not None
        assert self.end.outcome == self.manifest.outcome == "FAILED"
        return error.ename, error.evalue


def make_attempt(
    tmp_path: Path,
    cell: str,
    *,
    outputs: tuple[str, ...] = (),
    statements: tuple[Statement, ...] = (),
    values: dict[str, object] | None = None,
    modules: dict[str, str] | None = None,
    extra: tuple[tuple[tarfile.TarInfo, bytes], ...] = (),
    cwd: Path | None = None,
    **spec,
) -> Attempt:
    folder = tmp_path / "attempts" / TOKEN
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    members: dict[str, bytes] = {f"modules/{path}": text.encode() for path, text in (modules or {}).items()}
    prelude: list[Statement | PackedValue] = list(statements)
    for name, value in (values or {}).items():
        coded = codecs.encode(value, limit_bytes=None)
        members[f"values/{name}.{coded.codec}"] = coded.data
        prelude.append(
            PackedValue(
                name=name, codec=coded.codec, file=f"{name}.{coded.codec}", bytes=len(coded.data),
                sha256=hashlib.sha256(coded.data).hexdigest(),
            )
        )  # fmt: skip
    settings = {"name": "test", "language": "python", "cell_filename": "<cell>", "python": tuple(sys.version_info[:3])}
    whole = Spec(cell=cell, outputs=outputs, prelude=tuple(prelude), **{**settings, **spec})
    members["spec.json"] = whole.model_dump_json().encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member, data in extra:
            tar.addfile(member, io.BytesIO(data))
    (folder / "bundle.tar").write_bytes(buffer.getvalue())
    (folder / "runner.py").write_bytes(SOURCE.read_bytes())
    (folder / "key").write_text(KEY)
    options = ["--cwd", str(cwd)] if cwd else []
    return Attempt(folder, hashlib.sha256(buffer.getvalue()).hexdigest(), options=options)
