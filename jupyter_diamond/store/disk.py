"""The store's file on disk: private to its owner, and journaled in a way its file system can bear."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from jupyter_diamond.errors import StoreError

_NETWORK = frozenset({
    "nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "smbfs", "afs", "ceph", "panfs", "pvfs2", "orangefs",
    "glusterfs", "fuse.sshfs", "9p", "wekafs",
})  # fmt: skip


def make_private(path: Path) -> None:
    """Make the store's folder 0700 and its file 0600, whatever the umask.

    SQLite gives -wal, -shm and -journal the rights of the file itself. A folder that others can enter and that holds
    other things is refused instead of being closed to them behind the user's back.
    """
    folder = path.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)  # a umask may have taken from the owner, too
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        if not path.exists() and any(folder.iterdir()):
            raise StoreError(
                f"The task store needs a folder of its own: {folder} holds other files and is open to others "
                f"(mode {mode:04o}). Point c.DiamondStore.path to a new folder, or run: chmod 700 {folder}"
            )
        folder.chmod(0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != 0o600:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def journal_mode(path: Path) -> str:
    """WAL, but a rollback journal on network file systems: WAL's shared memory does not reach another host."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="backslashreplace")
    except OSError:  # not Linux: no cheap way to know
        return "WAL"
    return "DELETE" if file_system(path.resolve(), mounts) in _NETWORK else "WAL"


def file_system(path: Path, mountinfo: str) -> str:
    """The type of the file system that holds ``path``, from the text of ``/proc/self/mountinfo``; "" when unknown."""
    found, kind = "", ""
    for line in mountinfo.splitlines():
        left, dash, right = line.partition(" - ")
        fields = left.split()
        if not dash or len(fields) < 5 or not right:
            continue
        mount = fields[4].replace("\\040", " ")
        # a later mount on the same point hides the earlier one
        if len(mount) >= len(found) and path.is_relative_to(mount):
            found, kind = mount, right.split()[0]
    return kind
