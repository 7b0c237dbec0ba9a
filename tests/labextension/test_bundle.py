"""The committed bundle and the generated types say what the sources say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sources import BUNDLE, LABEXTENSION, copy_of_sources, module, run
from typescript import compile_modules, evaluate

from labextension.scripts.sizes import complaints


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


def test_the_bundle_weighs_what_the_readme_states():
    done = module("sizes", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_bundle_that_is_too_heavy_or_stated_wrong_is_noticed():
    assert complaints(601.0, "It is **600 kB**.") == ["The bundle weighs 601 kB gzipped; 600 kB are allowed."]
    assert "write it there" in complaints(80.0, "It is **60 kB**.")[0]
    assert complaints(80.0, "It is **78 kB**.") == []


def test_each_library_of_the_bundle_is_defended_in_the_readme():
    package = json.loads((LABEXTENSION / "package.json").read_text(encoding="utf-8"))
    brought = [
        name
        for name in package["dependencies"]
        if not name.startswith(("@jupyterlab/", "@lumino/")) and name != "react"
    ]
    readme = (LABEXTENSION / "README.md").read_text(encoding="utf-8")
    assert brought
    assert all(f"| `{name}` |" in readme for name in brought)


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
    for path in sorted((LABEXTENSION / "src").rglob("*.ts*")):
        text = path.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in text, f"{path.name} uses {way}"


def test_colours_come_from_the_theme_only():
    css = "".join(path.read_text(encoding="utf-8") for path in (LABEXTENSION / "style").glob("*.css"))
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", css)
    used = set(re.findall(r"var\((--[\w-]+)", css))
    own = {name for name in used if name.startswith("--jp-diamond-")}
    assert used - own
    assert all(f"{name}:" in css for name in own)


@pytest.mark.node
def test_the_sources_build_from_a_clean_copy_with_strict_types(built: Path):
    compiler = json.loads((LABEXTENSION / "tsconfig.json").read_text(encoding="utf-8"))["compilerOptions"]
    assert compiler["strict"] is True
    assert module("build", "--check", cwd=built.parent).returncode == 0


@pytest.mark.node
def test_the_type_check_is_real(built: Path):
    wrong = built / "src" / "wrong.ts"
    wrong.write_text("export const n: number = 'text';\n", encoding="utf-8")
    try:
        done = run(str(built / "node_modules" / ".bin" / "tsc"), "--noEmit", cwd=built)
    finally:
        wrong.unlink()
    assert done.returncode != 0
    assert "wrong.ts" in done.stdout


FORMATS = [
    ("format.clock(0)", "00:00"),
    ("format.clock(727)", "12:07"),
    ("format.clock(41, 14400)", "0:00:41"),
    ("format.clock(4327)", "1:12:07"),
    ("format.clock(183840, 259200)", "2 d 03:04"),
    ("format.duration(0.04)", "< 1 s"),
    ("format.duration(0.44)", "0.4 s"),
    ("format.duration(59.9)", "59 s"),
    ("format.duration(61)", "1 min 1 s"),
    ("format.duration(480)", "8 min"),
    ("format.duration(12000)", "3 h 20 min"),
    ("format.duration(200000)", "2 d 7 h"),
    ("format.age(59)", "59 s"),
    ("format.age(3600)", "60 min"),
    ("format.age(7260)", "2 h"),
    ("format.duration(3)", "3 s"),
    ("format.duration(0)", "0 s"),
    ("format.limit(129600)", "1 d 12 h"),
    ("format.limit(400)", "6 min 40 s"),
    ("format.bytes(512)", "512 B"),
    ("format.bytes(34359738368)", "32 GB"),
    ("format.bytes(1503238554)", "1.4 GB"),
    ("format.compact(null)", "?"),
    ("format.compact(0)", "0"),
    ("format.compact(9999)", "9999"),
    ("format.compact(12340)", "12.3k"),
    ("format.compact(1234567)", "1.2M"),
    ("format.count(null)", "?"),
    ("format.counted(1, 'job')", "1 job"),
    ("format.counted(null, 'job')", "? jobs"),
    ("String(format.secondsBetween(null, 5))", "null"),
    ("String(format.secondsBetween('2026-01-01T00:00:02Z', '2026-01-01T00:00:00Z'))", "0"),
    ("logtext.settle('10%\\r90%\\r100%\\r')", "100%"),
    ("logtext.settle('abc\\rX')", "Xbc"),
    ("logtext.settle('\\x1b[1;31mred\\x1b[0m\\x1b]0;title\\x07 text')", "red text"),
    ("vocabulary.stateSign('never_heard_of').word", "unknown"),
    ("vocabulary.reasonWord('never')", "will never run"),
    (
        "sizetext.sizeText({nodes: 2, cpus: 4, gpus: 1, memory_bytes: 2**35, walltime_s: 14400})",
        "2 nodes \u00d7 4 cores, 1 GPU, 32 GB, 4 h",
    ),
]


@pytest.fixture(scope="module")
def compiled(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every pure module that is asked here, translated once."""
    to = tmp_path_factory.mktemp("compiled")
    compile_modules(built / "node_modules" / ".bin" / "tsc", to, *WORDS, *SCREENS)
    return to


WORDS = ("format", "logtext", "vocabulary", "sizetext")


@pytest.mark.node
def test_numbers_times_and_log_lines_read_as_they_should(compiled: Path):
    said = evaluate(compiled, WORDS, f"return [{', '.join(expression for expression, _ in FORMATS)}];")
    assert dict(zip([e for e, _ in FORMATS], said, strict=True)) == dict(FORMATS)


@pytest.mark.node
def test_an_escape_sequence_that_a_chunk_cuts_is_never_shown(compiled: Path):
    script = """const text = 'a\\x1b[31mb\\x1b[0m 1%\\r22%\\nnext';
      const seen = [];
      for (let cut = 0; cut <= text.length; cut++) {
        const lines = new logtext.LogLines(); const one = lines.push(text.slice(0, cut)); const two = lines.push(text.slice(cut));
        seen.push(one.settled + two.settled + two.open, one.open);
      }
      return seen;"""
    seen = evaluate(compiled, ("logtext",), script)
    assert set(seen[::2]) == {"22%1%\nnext"}  # what follows the return overwrites from the left: "ab 1%" -> "22%1%"
    assert all("\x1b" not in text and "[" not in text for text in seen)


SCREENS = ("board/lines", "board/acts", "wall/walltext", "wall/spark", "screens/address")
SAID = [
    ("address.askedFor('?reset&diamond=wall,task:a-1&diamond=tasks').map(each => each.kind + each.id)", ["wall", "taska-1", "tasks"]),
    ("address.withoutAsked('/lab/workspaces/x', '?diamond=wall&foo=1', '#here')", "/lab/workspaces/x?foo=1#here"),
    ("walltext.waitText(null)", "?"),
    ("walltext.waitText({forecast: null, why: 'No.'})", "\u2013"),
    ("walltext.waitText({why: '', forecast: {wait_s: 0, low_s: 0, high_s: 600, beyond: false}})", "now (< 10 min)"),
    ("walltext.waitText({why: '', forecast: {wait_s: 600, low_s: 300, high_s: 1500, beyond: false}})", "~10 min (5-25)"),
    ("walltext.waitText({why: '', forecast: {wait_s: 5400, low_s: null, high_s: null, beyond: false}})", "~90 min"),
    ("walltext.waitText({why: '', forecast: {wait_s: 30000, low_s: 9000, high_s: 80000, beyond: false}})", "~8.3 h (2.5-22)"),
    ("walltext.waitText({why: '', forecast: {wait_s: 259200, low_s: null, high_s: null, beyond: true}})", "> 3 d"),
    ("walltext.waitText({why: '', forecast: {wait_s: null, low_s: null, high_s: null, beyond: false}})", "?"),
    ("spark.sparkText(spark.sparkPoints(given, 600, 86400e3))", "last day: 25 to 75 % busy, 25 % at its end"),
    ("spark.sparkPoints(given, 600, 86400e3).map(point => point.share)", [0.5, 0.75, None, None, 0.25]),
    ("spark.sparkText([])", "last day: not known"),
]  # fmt: skip
A_DAY = {
    "at": [f"1970-01-01T{at}:00Z" for at in ("22:00", "22:10", "22:20", "23:50")],
    "free": [5, 2.5, None, 7.5],
    "total": [10, 10, 10, 10],
}


@pytest.mark.node
def test_screens_say_waits_days_and_addresses_as_they_should(compiled: Path):
    said = evaluate(compiled, SCREENS, f"return [{', '.join(expression for expression, _ in SAID)}];", A_DAY)
    assert dict(zip([e for e, _ in SAID], said, strict=True)) == dict(SAID)
    script = """
      const task = n => ({id: `t${n}`, name: `fit${n % 7}`, state: n % 3 ? 'completed' : 'failed', phase: 'ENDED', site: 'delta',
        partition: 'cpu', created_at: `2026-01-01T00:00:${String(n % 60).padStart(2, '0')}.${String(n).padStart(6, '0')}Z`,
        started_at: null, ended_at: null, notebook: null, native_id: null, cause: n % 3 ? '' : 'killed', trouble: '', reason_class: null});
      const tasks = Array.from({length: 10000}, (_, n) => task(n));
      const all = {tasks, groups: [], open: new Set(), members: () => null, now: 0};
      const found = lines.linesOf(all, {...lines.NO_FILTER, words: ['fit3', 'killed'], state: 'wrong'}, {by: 'name', down: false});
      const wanted = acts.meant('replan', found.slice(0, 2));
      const newest = lines.linesOf(all, lines.NO_FILTER, lines.NEWEST_FIRST).map(line => line.task.created_at);
      return [found.length, newest.length, newest.every((at, n) => n === 0 || newest[n - 1] >= at), wanted.targets.length, wanted.left];
    """
    wanted = sum(n % 7 == 3 and n % 3 == 0 for n in range(10_000))
    assert evaluate(compiled, SCREENS, script) == [wanted, 10_000, True, 0, ["2 have ended"]]
