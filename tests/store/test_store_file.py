"""The file: private to its owner, migrated, and honest about what keeps it from working."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from jupyter_diamond.errors import StoreError
from jupyter_diamond.store import Store
from jupyter_diamond.store.disk import file_system
from jupyter_diamond.store.migrate import migrations
from jupyter_diamond.store.schema import HEAD, metadata
from tests.store.store_samples import put_task


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_only_the_owner_can_read_the_store(path, umask):
    before = os.umask(umask)
    try:
        store = Store(path)
        put_task(store)
    finally:
        os.umask(before)
    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == ["store.sqlite", "store.sqlite-shm", "store.sqlite-wal"]
    assert {mode(file) for file in files} == {0o600}
    assert mode(path.parent) == 0o700
    store.close()


def test_rights_that_were_opened_are_closed_again(path):
    Store(path).close()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    Store(path).close()
    assert (mode(path), mode(path.parent)) == (0o600, 0o700)


def test_a_folder_that_others_use_is_refused_and_left_alone(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "thesis.tex").touch()
    with pytest.raises(StoreError, match=r"needs a folder of its own: .* Point c.DiamondStore.path"):
        Store(folder / "store.sqlite")
    assert mode(folder) == 0o755
    assert [file.name for file in folder.iterdir()] == ["thesis.tex"]


def test_it_writes_ahead_and_checks_references(store):
    with store._database.read() as connection:
        ask = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "foreign_keys")}
        ask["busy"] = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
        ask["sync"] = connection.exec_driver_sql("PRAGMA synchronous").scalar()
    assert ask == {"journal_mode": "wal", "foreign_keys": 1, "busy": 10_000, "sync": 2}


MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /home rw - nfs4 server:/home rw
23 22 8:2 / /home/local rw - xfs /dev/sdb rw
24 21 0:21 / /with\\040space rw master:3 - lustre mds:/fs rw
25 21 8:3 / /twice rw - ext4 /dev/sdc rw
26 21 0:22 / /twice rw - nfs server:/twice rw
unreadable
"""


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("/var/x", "ext4"),
        ("/home/u/store.sqlite", "nfs4"),
        ("/home/local/u", "xfs"),
        ("/homely/u", "ext4"),
        ("/with space/u", "lustre"),
        ("/twice/u", "nfs"),
    ],
)
def test_the_file_system_is_that_of_the_deepest_mount(where, kind):
    assert file_system(Path(where), MOUNTS) == kind


def test_without_mounts_the_file_system_is_unknown():
    assert file_system(Path("/home/u"), "") == ""


def test_network_disks_get_a_rollback_journal(path, monkeypatch):
    monkeypatch.setattr("jupyter_diamond.store.disk.file_system", lambda *_: "nfs4")
    store = Store(path)
    put_task(store)
    with store._database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
    assert {mode(file) for file in path.parent.iterdir()} == {0o600}
    store.close()


# ---- schema


def test_the_tables_are_what_the_migrations_make(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    with store._database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert ScriptDirectory.from_config(migrations()).get_heads() == [HEAD]


def test_a_known_store_opens_without_alembic(path):
    Store(path).close()
    code = f"""
        import sys
        from pathlib import Path
        from jupyter_diamond.store import Store
        Store(Path({str(path)!r})).close()
        assert not [name for name in sys.modules if name.startswith("alembic")]
    """
    in_child(code)


def test_two_servers_may_make_the_store_at_the_same_time(path):
    code = f"""
        from pathlib import Path
        from jupyter_diamond.store import Store
        print(Store(Path({str(path)!r})).newest_event())
    """
    makers = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [maker.communicate(timeout=60)[0] for maker in makers] == ["0\n"] * 4


def test_a_newer_store_is_refused_and_left_alone(path):
    Store(path).close()
    raw = sqlite3.connect(path)
    raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"store.sqlite was written by a newer jupyter_diamond \(schema 9999\); upgrade"
    ):
        Store(path)
    assert path.read_bytes() == before


def test_another_program_s_database_is_refused_and_left_alone(path):
    path.parent.mkdir(mode=0o700)
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE bookmarks (url TEXT)")
    raw.close()
    path.chmod(0o600)
    with pytest.raises(StoreError, match="is a database of another program"):
        Store(path)
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
    raw.close()


# ---- broken disks


def test_a_file_that_is_no_database_is_named(path):
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"not a database, surely" * 100)
    with pytest.raises(StoreError, match=r"store.sqlite is damaged or is no task store; move it") as caught:
        Store(path)
    assert not caught.value.transient
    assert caught.value.evidence == ("file is not a database",)


def test_a_damaged_page_is_a_sentence(path):
    store = Store(path)
    with store._database.read() as connection:
        stamped = connection.exec_driver_sql("PRAGMA page_count").scalar() * 4096
    for number in range(40):
        put_task(store, number)
    store.close()
    content = bytearray(path.read_bytes())
    content[stamped:] = os.urandom(len(content) - stamped)  # the schema and its stamp stay good
    path.write_bytes(content)
    damaged = Store(path)
    with pytest.raises(StoreError, match="is damaged"):
        damaged.tasks()
    damaged.close()


def test_a_folder_in_the_way_is_a_sentence(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"cannot be used: Is a directory .* or point c.DiamondStore.path to"):
        Store(path)


def in_child(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_read_only_store_is_a_sentence(path):
    store = Store(path)
    with store._database.read() as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"store.sqlite cannot be written: make its file and folder writable"):
        put_task(store)
    store.close()


def test_a_store_of_somebody_else_is_a_sentence(path):
    Store(path).close()
    path.chmod(0o000)
    path.parent.chmod(0o500)
    code = f"""
        import os
        from pathlib import Path
        from jupyter_diamond.store import Store
        from jupyter_diamond.errors import StoreError
        import jupyter_diamond.store.migrate
        if os.geteuid() == 0:
            os.seteuid(65534)  # rights mean nothing to root
        try:
            Store(Path({str(path)!r}))
        except StoreError as error:
            print(error)
    """
    said = in_child(code)
    path.parent.chmod(0o700)
    assert "store.sqlite cannot be used: Permission denied" in said
    assert "c.DiamondStore.path" in said


def test_a_full_quota_is_a_sentence_and_changes_nothing(path):
    """A file size limit stands for the quota: the operating system refuses the write, not SQLite."""
    code = f"""
        import resource
        from pathlib import Path
        from tests.store.store_samples import put_task
        from jupyter_diamond.store import Store
        from jupyter_diamond.errors import StoreError
        store = Store(Path({str(path)!r}))
        put_task(store, 0)
        largest = max(file.stat().st_size for file in Path({str(path.parent)!r}).iterdir() if file.is_file())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 100_000, resource.RLIM_INFINITY))
        made = 0
        try:
            for number in range(1, 10_000):
                put_task(store, number)
                made = number
        except StoreError as error:
            print(error.transient, error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert made > 0
        assert len(store.tasks(limit=10_000)) == made + 1
        put_task(store, made + 1)
        assert store.newest_event() == 2 * (made + 2)
    """
    assert in_child(code).startswith(f"True The task store {path} could not be read or written by the operating system")


def test_a_full_disk_is_a_sentence(path):
    store = Store(path)
    with store._database.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    def fill():
        for number in range(1000):
            put_task(store, number)

    with pytest.raises(StoreError, match="the disk or your quota is full, and nothing was changed") as caught:
        fill()
    assert caught.value.transient
    store.close()


def test_a_lock_that_stays_is_a_sentence(path, store, monkeypatch):
    with store._database.read() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked by another process") as caught:
        put_task(store)
    assert caught.value.transient
    other.close()
    put_task(store)
