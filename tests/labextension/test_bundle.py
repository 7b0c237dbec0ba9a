"""The committed bundle and the generated types say what the sources say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LABEXTENSION = ROOT / "labextension"
BUNDLE = ROOT / "jupyter_diamond" / "labextension"


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True, timeout=170)


def module(name: str, *args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", f"labextension.scripts.{name}", *args, cwd=cwd)


def copy_of_sources(to: Path) -> Path:
    shutil.copytree(
        LABEXTENSION, to / "labextension", ignore=shutil.ignore_patterns("node_modules", "lib", "*.tsbuildinfo")
    )
    shutil.copytree(BUNDLE, to / "jupyter_diamond" / "labextension")
    return to


def test_the_committed_bundle_was_built_from_these_sources():
    done = module("build", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("source", ["src/pool.ts", "style/base.css", "schema/plugin.json", "package.json", "yarn.lock"])
def test_a_changed_source_is_noticed(tmp_path: Path, source: str):
    copy = copy_of_sources(tmp_path)
    assert module("build", "--check", cwd=copy).returncode == 0
    path = copy / "labextension" / source
    path.write_bytes(path.read_bytes() + b"\n")
    done = module("build", "--check", cwd=copy)
    assert done.returncode == 1
    assert "python -m labextension.scripts.build" in done.stdout


def test_line_ends_do_not_matter_to_the_stamp(tmp_path: Path):
    copy = copy_of_sources(tmp_path)
    path = copy / "labextension" / "src" / "pool.ts"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert module("build", "--check", cwd=copy).returncode == 0


def test_the_typescript_types_are_those_of_the_models():
    done = module("api_types", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_bundle_names_the_entry_that_it_holds():
    package = json.loads((BUNDLE / "package.json").read_text(encoding="utf-8"))
    assert package["name"] == "jupyter-diamond"
    assert (BUNDLE / package["jupyterlab"]["_build"]["load"]).is_file()
    assert (BUNDLE / "schemas" / "jupyter-diamond" / "plugin.json").is_file()


def test_the_lock_names_packages_and_no_download_host():
    lock = (LABEXTENSION / "yarn.lock").read_text(encoding="utf-8")
    resolutions = re.findall(r"^  resolution: (.*)$", lock, re.MULTILINE)
    assert len(resolutions) > 100
    for resolution in resolutions:
        assert re.fullmatch(r'"(@?[\w./-]+)@(npm:[\w.+-]+|patch:[^:/]+(@npm%3A|@npm:).*|workspace:\.)"', resolution), (
            resolution
        )
    assert "://" not in lock
    assert "__archiveUrl" not in lock


def test_foreign_text_never_becomes_markup():
    for path in sorted((LABEXTENSION / "src").iterdir()):
        text = path.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in text, f"{path.name} uses {way}"


def test_colours_come_from_the_theme_only():
    css = (LABEXTENSION / "style" / "base.css").read_text(encoding="utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", css)
    used = set(re.findall(r"var\((--[\w-]+)", css))
    own = {name for name in used if name.startswith("--jp-diamond-")}
    assert used - own
    assert all(f"{name}:" in css for name in own)


@pytest.mark.node
def test_the_sources_build_from_a_clean_copy_with_strict_types(tmp_path: Path):
    copy = copy_of_sources(tmp_path)
    (copy / "jupyter_diamond" / "labextension" / "sources.sha256").unlink()
    compiler = json.loads((LABEXTENSION / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    assert compiler["strict"] is True
    done = module("build", cwd=copy)  # tsc is the first step after the install: a type error fails it
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert module("build", "--check", cwd=copy).returncode == 0
