"""Runs one cell at a site. Standard library only, Python 3.6 or newer; read it, it runs on your account.

    python runner.py --token TOKEN --bundle-sha256 DIGEST [--cwd FOLDER] [--checkpoints FOLDER] [--segment N/ALL]
                     [--warn-after SECONDS] [--warn-signal NAME] [--member INDEX] [--keep PATTERN]...
                     [--since SECONDS]
                     [--data NAME=PATH]...

It is started by the batch script inside the attempt's folder. It reads ``bundle.tar`` (spec.json, values/, modules/)
and ``key``; it writes, in this order: ``outputs.jsonl`` (while the cell runs), ``result/``, ``files.jsonl`` (of many
files that a ``--keep`` names), ``manifest.json``, ``end.json``. Whoever finds ``end.json`` finds all the others
complete. Everything that the cell prints also goes to this process's own stdout and stderr, live. Of a group's bundle,
``--member`` says which of its members this one is: its variables are there before the cell runs, in a shell's
environment for a bash cell.

The parts, top to bottom: files on a disk that may be full; what the cell prints; what the cell shows; checkpoints and
the end that is near; the user's ``__main__``; what comes back; the files that stay; the attempt from start to end.
"""

import _ast
import binascii
import builtins
import codecs
import contextlib
import errno
import faulthandler
import hashlib
import hmac
import importlib.util
import io
import itertools
import json
import linecache
import os
import re
import reprlib
import resource
import select
import signal
import stat
import sys
import tarfile
import threading
import time
import types

STARTED_AT = time.time()
FORMAT = 1
OUTPUTS_LIMIT_BYTES = 10000000
PREVIEW_LIMIT = 200
RESERVE_BYTES = 65536  # held back on the disk, so that a full one still has room for the last words
TERMINATE_GRACE_S = 5.0  # after SIGTERM; schedulers send SIGKILL after 30 s by default

EXIT_REFUSED = 77
EXIT_NO_PYTHON = 82
EXIT_BAD_BUNDLE = 84
EXIT_MISSING_IMPORT = 85
EXIT_CONTINUED = 86
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143

HERE = os.path.abspath(__file__)
OWN_FILES = {HERE, sys._getframe().f_code.co_filename}
PYTHON = "%d.%d.%d" % sys.version_info[:3]
HOST = os.uname().nodename


class Stop(Exception):
    """The attempt ends here, for a reason that is not an exception of the user's code."""

    def __init__(self, exit_code, ename, sentence):
        Exception.__init__(self, sentence)
        self.exit_code = exit_code
        self.ename = ename
        self.sentence = sentence


class Terminated(BaseException):
    """SIGTERM: the scheduler ends the job (walltime, cancel, preemption)."""


# --- files on a disk that may be full --------------------------------------------------------------------------------


def open_private(path, flags=os.O_TRUNC):
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def put(path, data):
    """The whole file or none: written beside, synced, renamed."""
    fd = open_private(path + ".tmp")
    try:
        write_all(fd, data)
        os.fsync(fd)
    except OSError:
        os.unlink(path + ".tmp")
        raise
    finally:
        os.close(fd)
    os.rename(path + ".tmp", path)


def disk_sentence(error, path):
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk of %s on %s is full or over quota (%s); free space there" % (path, HOST, error.strerror)
    if error.errno == errno.EFBIG:
        return "%s on %s grew larger than the site lets a file be (%s)" % (path, HOST, error.strerror)
    return "%s on %s cannot be written (%s)" % (path, HOST, error.strerror or error)


# --- what the cell prints --------------------------------------------------------------------------------------------


class Recorder:
    """Takes all that the cell prints and shows: to the log at once, and to ``outputs.jsonl`` in the order it came.

    Python's own streams write here directly. Programs and C code that the cell starts write to file descriptors 1 and
    2, which are pipes that ``_pump`` reads; each direct write first drains them, so that the order stays true.
    """

    def __init__(self, path):
        self.path = path
        self.pid = self.child = os.getpid()
        self.lock = threading.RLock()
        self.fd = open_private(path, os.O_TRUNC | os.O_APPEND)
        self.log = {"stdout": os.dup(1), "stderr": os.dup(2)}
        self.bytes = 0
        self.truncated = False
        self.trouble = ""
        self.name = "stdout"  # the stream whose text is pending
        self.pending = []  # not yet in outputs.jsonl
        self.untold = []  # not yet in the log
        self.size = 0
        self.last = None  # the stream of the newest line, None after anything else
        self.untidy = False  # lines that tidy() will merge
        self.terminated_at = None
        self.on_stuck = None
        self.on_tick = None
        self.stopping = False

    def start(self):
        """Replace stdout and stderr, of Python and of the process."""
        self.pipes = {}
        for fd, name in ((1, "stdout"), (2, "stderr")):
            source, sink = os.pipe()
            os.dup2(sink, fd)
            os.close(sink)
            os.set_blocking(source, False)
            self.pipes[source] = (name, codecs.getincrementaldecoder("utf-8")("backslashreplace"))
        self.poll = select.poll()
        for source in self.pipes:
            self.poll.register(source, select.POLLIN)
        self.wake, wakeup = os.pipe()
        for fd in (self.wake, wakeup):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wakeup)
        self.wakeup = wakeup
        sys.stdout, sys.stderr = Stream(self, "stdout", 1), Stream(self, "stderr", 2)
        faulthandler.enable(self.log["stderr"])
        self.thread = threading.Thread(target=self._pump, name="diamond-outputs")
        self.thread.daemon = True
        self.thread.start()

    def stop(self):
        """The streams are the process's own again; what is in the pipes is taken."""
        for fd, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(self.log[name], fd)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        self.stopping = True
        os.write(self.wakeup, b"\0")
        self.thread.join(2)
        with self.lock:
            self._drain()
            self._settle()
            if self.untidy:
                self._tidy()
        signal.set_wakeup_fd(-1)

    def write(self, name, text):
        if os.getpid() != self.pid:
            self._write_in_child(name, text)
            return
        with self.lock:
            self._drain()
            self._take(name, text)

    def flush(self):
        if os.getpid() == self.pid:
            with self.lock:
                self._tell()
        else:
            self._write_in_child("stdout", "", flush=True)
            self._write_in_child("stderr", "", flush=True)

    def _write_in_child(self, name, text, flush=False):
        """A forked child writes whole lines to the pipe that its parent reads."""
        if os.getpid() != self.child:
            self.child = os.getpid()
            self.child_text = {"stdout": "", "stderr": ""}
        self.child_text[name] += text
        if flush or "\n" in text:
            write_all(1 if name == "stdout" else 2, self.child_text[name].encode("utf-8", "backslashreplace"))
            self.child_text[name] = ""

    def show(self, output):
        """Record something that is not a stream."""
        if os.getpid() == self.pid:
            with self.lock:
                self._drain()
                self._settle()
                self._emit(output)

    def _pump(self):
        while not self.stopping:
            ready = select.select(list(self.pipes) + [self.wake], [], [], 0.5)[0]
            if self.wake in ready and signal.SIGTERM in os.read(self.wake, 4096):
                self.terminated_at = time.monotonic()
            with self.lock:
                self._drain()
                if not ready:  # quiet for half a second: let others see what there is
                    self._settle()
            if self.on_tick:
                self.on_tick()
            if self.terminated_at and time.monotonic() - self.terminated_at > TERMINATE_GRACE_S and self.on_stuck:
                self.on_stuck()

    def _drain(self):
        for _ in range(16):  # bounded: a chatty program must not hold up the cell
            ready = self.poll.poll(0)
            if not ready:
                return
            for source, _ in ready:
                name, decoder = self.pipes[source]
                data = os.read(source, 65536)
                if data:
                    self._take(name, decoder.decode(data))
                else:
                    self.poll.unregister(source)
                    del self.pipes[source]  # the user closed descriptor 1 or 2

    def _take(self, name, text):
        if name != self.name:
            self._settle()
            self.name = name
        self.pending.append(text)
        self.untold.append(text)
        self.size += len(text)
        if "\n" in text:
            self._tell()
        if self.size > 65536:
            self._settle()

    def _tell(self):
        """To the log. A full disk there must not break the user's print."""
        data = "".join(self.untold).encode("utf-8", "backslashreplace")
        self.untold = []
        try:
            write_all(self.log[self.name], data)
        except OSError as error:
            self.trouble = disk_sentence(error, "job.out")

    def _settle(self):
        """Everything pending to the log and to outputs.jsonl."""
        self._tell()
        text = "".join(self.pending)
        self.pending = []
        self.size = 0
        if text:
            self._emit({"output_type": "stream", "name": self.name, "text": text})

    def _emit(self, output):
        data = json_line(output)
        if self.bytes + len(data) > OUTPUTS_LIMIT_BYTES and output["output_type"] != "error":
            if self.truncated:
                return
            self.truncated = True
            limit = OUTPUTS_LIMIT_BYTES // 1000000
            cut = "\n[diamond: the outputs of this cell are cut here, at %d MB; the log has all text]\n" % limit
            output = {"output_type": "stream", "name": "stderr", "text": cut}
            data = json_line(output)
        name = output.get("name")
        self.untidy = self.untidy or "transient" in output or (name is not None and name == self.last)
        self.last = name
        try:
            write_all(self.fd, data)
            self.bytes += len(data)
        except OSError as error:
            self.truncated = True
            self.trouble = disk_sentence(error, self.path)
            os.ftruncate(self.fd, self.bytes)  # no torn line

    def _tidy(self):
        """One line for each run of a stream; updated displays in place; nothing of what was cleared."""
        with io.open(self.path, encoding="utf-8") as lines:
            outputs = merged(json.loads(line) for line in lines)
        try:
            data = b"".join(json_line(output) for output in outputs)
            put(self.path, data)
            self.bytes = len(data)
        except OSError:
            pass  # what is there reads just as well, in more lines


def merged(lines):
    outputs, displays, wipe = [], {}, False
    for output in lines:
        how = output.pop("transient", {})
        if how.get("clear"):
            outputs, displays, wipe = ([], {}, False) if not how.get("wait") else (outputs, displays, True)
            continue
        if how.get("update"):
            for shown in displays.get(how.get("display_id"), ()):
                shown.update(data=output["data"], metadata=output["metadata"])
            continue
        if wipe:
            outputs, displays, wipe = [], {}, False
        if "display_id" in how:
            displays.setdefault(how["display_id"], []).append(output)
        if outputs and output.get("name") is not None and outputs[-1].get("name") == output["name"]:
            outputs[-1]["parts"].append(output.pop("text"))
        else:
            if output["output_type"] == "stream":
                output["parts"] = [output.pop("text")]
            outputs.append(output)
    for output in outputs:
        if "parts" in output:
            output["text"] = "".join(output.pop("parts"))
    return outputs


def json_line(output):
    """ASCII, one line, and JSON that every reader takes: no nan, no half of a surrogate pair."""
    try:
        text = json.dumps(output, allow_nan=False, default=str)
        odd = "\\ud" in text
    except ValueError:
        odd = True
    if odd:
        text = json.dumps(readable(output), default=str)
    return text.encode("ascii") + b"\n"


def readable(part):
    if isinstance(part, str):
        return part.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(part, float) and part - part != 0:
        return None
    if isinstance(part, dict):
        return {readable(str(key)): readable(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [readable(value) for value in part]
    return part


class Stream(io.TextIOBase):
    """What the user's code sees as sys.stdout or sys.stderr."""

    encoding = "utf-8"
    errors = "backslashreplace"
    mode = "w"

    def __init__(self, recorder, name, fd):
        self.recorder = recorder
        self.stream = name
        self.name = "<%s>" % name
        self.fd = fd
        self.buffer = Bytes(self)

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if text:
            self.recorder.write(self.stream, text)
        return len(text)

    def flush(self):
        self.recorder.flush()

    def writable(self):
        return True

    def fileno(self):
        return self.fd

    def reconfigure(self, **_options):
        pass

    def close(self):
        pass


class Bytes(io.RawIOBase):
    """``sys.stdout.buffer``."""

    def __init__(self, stream):
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data):
        self.stream.write(self.decoder.decode(bytes(data)))
        return len(data)

    def flush(self):
        self.stream.flush()

    def writable(self):
        return True

    def fileno(self):
        return self.stream.fd

    def close(self):
        pass


# --- what the cell shows ---------------------------------------------------------------------------------------------

REPRS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
    ("_repr_javascript_", "application/javascript"),
)


class Screen:
    """``display()``, the value of the last line, and figures: as a notebook shows them."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.shown_figures = []
        self.displays = 0

    def display(self, *objs, **options):
        """As IPython's: include, exclude, metadata, transient, display_id, raw, clear."""
        display_id = options.get("display_id")
        if display_id is True:
            self.displays += 1
            display_id = "diamond-%d" % self.displays
        if options.get("clear"):
            self.clear_output(wait=True)
        for obj in objs:
            if options.get("raw"):
                self.publish(obj, options.get("metadata"), display_id, update=options.get("update"))
                continue
            bundle = self.bundle(obj)
            if bundle is not None:
                data, metadata = bundle
                metadata.update(options.get("metadata") or {})
                self.publish(data, metadata, display_id, update=options.get("update"))
        return Handle(self, display_id) if display_id else None

    def publish(self, data, metadata=None, display_id=None, update=False, **_options):
        output = {"output_type": "display_data", "data": jsonable(data), "metadata": metadata or {}}
        if display_id:
            output["transient"] = {"display_id": display_id, "update": bool(update)}
        self.recorder.show(output)

    def publish_display_data(self, data, metadata=None, source=None, transient=None, update=False, **_options):
        self.publish(data, metadata, (transient or {}).get("display_id"), update)

    def update_display(self, obj, display_id=None, **options):
        self.display(obj, display_id=display_id, update=True, **options)

    def clear_output(self, wait=False):
        transient = {"clear": True, "wait": bool(wait)}
        self.recorder.show({"output_type": "stream", "name": "stdout", "text": "", "transient": transient})

    def result(self, value):
        """The value of the cell's last line."""
        if value is None:
            return
        bundle = self.bundle(value)
        if bundle is not None:
            data, metadata = bundle
            self.recorder.show(
                {"output_type": "execute_result", "execution_count": None, "data": data, "metadata": metadata}
            )

    def bundle(self, obj):
        """(data by MIME type, metadata), or None when the object shows itself."""
        itself = method_of(obj, "_ipython_display_")
        if itself is not None:
            itself()
            return None
        data, metadata = {}, {}
        figures = sys.modules.get("matplotlib.figure")
        if figures is not None and isinstance(obj, figures.Figure):
            data["image/png"] = figure_png(obj)
            self.shown_figures.append(obj)
        whole = call_repr(obj, "_repr_mimebundle_", include=None, exclude=None)
        if whole is not None:
            more, about = whole if isinstance(whole, tuple) else (whole, {})
            data.update(more)
            metadata.update(about)
        for name, mime in REPRS:
            if mime not in data:
                part = call_repr(obj, name)
                if isinstance(part, tuple):
                    part, metadata[mime] = part
                if part is not None:
                    data[mime] = part
        data.setdefault("text/plain", plain_text(obj))
        return jsonable(data), metadata

    def show_figures(self):
        """What ``plt.show()`` does, and what happens at the end of a cell: open figures are shown and closed."""
        managers = sys.modules.get("matplotlib._pylab_helpers")
        for manager in list(managers.Gcf.get_all_fig_managers()) if managers is not None else ():
            figure = manager.canvas.figure
            if not any(figure is shown for shown in self.shown_figures):
                self.publish({"image/png": figure_png(figure), "text/plain": plain_text(figure)})
            managers.Gcf.destroy(manager.num)
        self.shown_figures = []

    def patches(self):
        """What to change in modules, once the user's code has imported them."""

        def in_pyplot(module):
            def show(*_args, **_options):
                self.show_figures()

            module.show = show  # a plain function: pyplot sets attributes on it

        def in_ipython(module):
            for name in ("display", "publish_display_data", "update_display", "clear_output"):
                if hasattr(module, name):
                    setattr(module, name, getattr(self, name))

        ipython = ("IPython.core.display_functions", "IPython.core.display", "IPython.display")
        found = dict.fromkeys(ipython, in_ipython)
        found["matplotlib.pyplot"] = in_pyplot
        return found


class Handle:
    """What ``display(..., display_id=True)`` returns."""

    def __init__(self, screen, display_id):
        self.screen = screen
        self.display_id = display_id

    def display(self, obj, **options):
        self.screen.display(obj, display_id=self.display_id, **options)

    def update(self, obj, **options):
        self.screen.update_display(obj, display_id=self.display_id, **options)


class AfterImport:
    """A finder that changes a module right after its import, and imports nothing by itself."""

    def __init__(self, patches):
        self.patches = patches
        self.looking = set()
        for name in patches:
            if name in sys.modules:
                patches[name](sys.modules[name])

    def find_spec(self, name, path=None, target=None):
        if name not in self.patches or name in self.looking:
            return None
        self.looking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking.discard(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                self.patches[name](module)

            spec.loader.exec_module = exec_module
        return spec


def method_of(obj, name):
    if isinstance(obj, type):  # a class shows as a class, not with its instances' methods
        return None
    try:
        if getattr(obj, "_diamond_no_such_method_", None) is not None:  # it has every attribute (a mock, a proxy)
            return None
        method = getattr(obj, name, None)
    except Exception:  # __getattr__ and properties are the user's code: anything can come out
        return None
    return method if callable(method) else None


def call_repr(obj, name, **options):
    method = method_of(obj, name)
    if method is None:
        return None
    try:
        return method(**options)
    except NotImplementedError:
        return None
    except Exception as error:  # a _repr_*_ is the user's code: anything can come out
        # as IPython: say so, and show the object another way
        sys.stderr.write("%s.%s failed: %s: %s\n" % (type(obj).__name__, name, type(error).__name__, error))
        return None


def plain_text(obj):
    pretty = sys.modules.get("IPython.lib.pretty")
    try:
        if pretty is not None:
            return pretty.pretty(obj)
        if type(obj) in (list, tuple, set, frozenset, dict) and len(obj) > 1000:
            kept = dict(list(obj.items())[:1000]) if type(obj) is dict else type(obj)(list(obj)[:1000])
            text = repr(kept)
            return "%s, ...%s" % (text[:-1], text[-1])
        return repr(obj)
    except Exception as error:  # so is __repr__
        return "<%s: its repr failed: %s: %s>" % (type(obj).__name__, type(error).__name__, error)


def jsonable(data):
    return {
        str(mime): binascii.b2a_base64(bytes(part), newline=False).decode("ascii")
        if isinstance(part, (bytes, bytearray))
        else part
        for mime, part in data.items()
    }


def figure_png(figure):
    """As matplotlib's inline backend draws it."""
    if figure.canvas is None or not hasattr(figure.canvas, "print_png"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(figure)
    png = io.BytesIO()
    figure.canvas.print_figure(
        png,
        format="png",
        dpi=figure.dpi,
        facecolor=figure.get_facecolor(),
        edgecolor=figure.get_edgecolor(),
        bbox_inches="tight",
    )
    return png.getvalue()


# --- checkpoints, and the end that is near ---------------------------------------------------------------------------

# The cell has these as ``jupyter_diamond.checkpoint``, whether or not that package is installed here. What they know
# is in the environment and in files, so that programs which the cell starts can know it, too.


def warned():
    """Whether the job's time limit is near."""
    flag = os.environ.get("DIAMOND_WARNED")
    return bool(RUNG) or (bool(flag) and os.path.exists(flag))


def folder():
    """Where this task's checkpoints are; outside of a job an empty folder of this process."""
    path = os.environ.get("DIAMOND_CHECKPOINTS")
    if not path:
        path = own_folder()
    os.makedirs(path, 0o700, exist_ok=True)
    return path


def own_folder():
    import atexit
    import shutil
    import tempfile

    if not OWN_CHECKPOINTS:
        OWN_CHECKPOINTS.append(tempfile.mkdtemp(prefix="diamond-checkpoints-"))
        atexit.register(shutil.rmtree, OWN_CHECKPOINTS[0], True)
    return OWN_CHECKPOINTS[0]


OWN_CHECKPOINTS = []
RUNG = []  # for a disk on which no file can be made any more


def latest():
    """The newest finished checkpoint, None when there is none."""
    found = finished(folder())
    return found[-1] if found else None


def finished(top):
    """Oldest first. Names with a dot in front are under way."""
    found = [entry for entry in os.scandir(top) if not entry.name.startswith(".")]
    found.sort(key=lambda entry: (entry.stat().st_mtime_ns, entry.name))
    return [entry.path for entry in found]


@contextlib.contextmanager
def saving(name=None, keep=None):
    """A new folder, which becomes a checkpoint when the block ends well, all of it at once."""
    if name is not None and (not re.match(r"[A-Za-z0-9_][A-Za-z0-9_.=+-]{0,99}\Z", name)):
        raise ValueError("%r cannot name a checkpoint; write letters, digits and _ . = + - only" % (name,))
    if keep is not None and keep < 1:
        raise ValueError("keep says how many checkpoints stay: 1 or more")
    import shutil

    top = folder()
    fresh = os.path.join(top, ".saving-%d-%s" % (os.getpid(), binascii.hexlify(os.urandom(4)).decode("ascii")))
    os.mkdir(fresh, 0o700)
    try:
        yield fresh
        sync(fresh)
        os.utime(fresh, None)  # it is as old as its last byte
        publish(fresh, top, name)
    except BaseException:
        shutil.rmtree(fresh, True)
        raise
    for old in finished(top)[:-keep] if keep else ():
        if os.path.isdir(old):
            shutil.rmtree(old, True)


def sync(top):
    """To the disk: a checkpoint is for the day on which the node dies."""
    for path, _, files in os.walk(top):
        for name in files:
            fd = os.open(os.path.join(path, name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def publish(fresh, top, name):
    """Under its name; one that has the name already stays, and this one gets a number."""
    numbers = [int(found) for found in os.listdir(top) if re.match(r"[0-9]{6}\Z", found)]
    wanted = name or "%06d" % (max(numbers or [0]) + 1)
    for again in range(2, 1000000):
        path = os.path.join(top, wanted)
        if not os.path.lexists(path):
            os.rename(fresh, path)
            return
        wanted = "%s.%d" % (name, again) if name else "%06d" % (int(wanted) + 1)


def leave():
    """End this attempt, to be continued by the next segment from the newest checkpoint."""
    raise SystemExit(EXIT_CONTINUED)


OFFERED = (warned, folder, latest, saving, leave)


def offer_checkpoints():
    """``from jupyter_diamond import checkpoint``, wherever the cell runs."""
    offered = types.ModuleType("jupyter_diamond.checkpoint")
    for function in OFFERED:
        function.__module__ = offered.__name__
        setattr(offered, function.__name__, function)
    if not is_importable("jupyter_diamond"):
        sys.modules["jupyter_diamond"] = Package("jupyter_diamond")
        sys.modules["jupyter_diamond"].checkpoint = offered
        offer_data(sys.modules["jupyter_diamond"])
    sys.modules[offered.__name__] = offered  # the installed package finds it there


# --- data that was brought here --------------------------------------------------------------------------------------


def data_path(name):
    """Where the data of that name lies, which the cell's line asked for with ``--stage-in``."""
    path = os.environ.get("DIAMOND_DATA_" + re.sub("[-.]", "_", str(name).upper()))
    if path is None:
        raise LookupError(
            "no data named %r was brought to this job: add --stage-in %s to the cell's line" % (name, name)
        )
    return path


def offer_data(package):
    """``from jupyter_diamond import data_path``, whichever version of the package is installed here."""
    package.data_path = data_path


def link_data(folder, named):
    """In a folder of our own also as ``data/NAME``, for a program that knows no names."""
    for each in named:
        name, _, path = each.partition("=")
        try:
            os.makedirs(os.path.join(folder, "data"), 0o700, exist_ok=True)
            os.symlink(path, os.path.join(folder, "data", name))
        except OSError:
            pass  # it is a help; the path itself is in the environment


class Package(types.ModuleType):
    """Stands for the package at a site that does not have it."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            "jupyter_diamond.%s is not there in a job: on %s only checkpoint and data_path are" % (name, HOST)
        )


class Bell:
    """Says once that the end is near: by a file, which no library can swallow, and by a signal to who listens for it.

    The job script makes the file when the scheduler signals; a clock of our own does where the scheduler does not.
    """

    def __init__(self, flag, after_s, number, log):
        self.flag = flag
        self.number = number
        self.log = log
        self.at = time.monotonic() + after_s - (time.time() - job_began()) if after_s is not None else float("inf")
        self.look_at = 0.0
        self.rung = False
        self.child = None

    def look(self):
        now = time.monotonic()
        if self.rung or now < min(self.at, self.look_at):
            return
        self.look_at = now + 1.0
        if now >= self.at or os.path.exists(self.flag):
            self.rung = True
            RUNG.append(now)
            self._ring()

    def _ring(self):
        try:
            os.close(open_private(self.flag))
            write_all(self.log, b"diamond: the time limit is near; the cell has been told\n")
            if self.child is None:
                if callable(signal.getsignal(self.number)):
                    os.kill(os.getpid(), self.number)
            elif listens(self.child, self.number):
                os.kill(self.child, self.number)
        except OSError as error:  # a full disk, or a child that has just ended
            sys.stderr.write("diamond: the warning before the end could not be passed on: %s\n" % error)


def job_began():
    try:
        with open("started.json") as file:
            return min(float(json.load(file)["at"]), STARTED_AT)
    except (OSError, ValueError, KeyError):
        return STARTED_AT


def listens(pid, number):
    """Whether the process has a handler for the signal, which would else end it."""
    try:
        with open("/proc/%d/status" % pid) as file:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", file.read(), re.MULTILINE)
    except OSError:
        return False
    return caught is not None and bool(int(caught.group(1), 16) >> (number - 1) & 1)


def prepare_checkpoints(attempt, options):
    """What the cell may know of the work that it is a part of. The bell, which someone must look at now and then."""
    segment, _, segments = options.get("--segment", "1/1").partition("/")
    flag = attempt.path("warned")
    env = {
        "DIAMOND_WARNED": flag, "DIAMOND_CONTINUE": str(EXIT_CONTINUED), "DIAMOND_SEGMENT": segment,
        "DIAMOND_SEGMENTS": segments,
    }  # fmt: skip
    if "--checkpoints" in options:
        env["DIAMOND_CHECKPOINTS"] = options["--checkpoints"]  # it stays when this attempt ends, whichever way
        try:
            os.makedirs(options["--checkpoints"], 0o700, exist_ok=True)
        except OSError as error:
            raise Stop(1, "OSError", disk_sentence(error, options["--checkpoints"]))
    os.environ.update(env)
    after = options.get("--warn-after")
    number = getattr(signal, "SIG" + options.get("--warn-signal", "USR2"))
    return Bell(flag, None if after is None else float(after), number, attempt.recorder.log["stderr"])


# --- the user's __main__ ---------------------------------------------------------------------------------------------


class Notebook:
    """A real ``__main__`` module, in which statements, values and the cell follow each other as in a kernel."""

    def __init__(self, screen):
        self.screen = screen
        self.loop = None
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        import __future__

        self.future_flags = {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
        self.flags = getattr(_ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)

    def enter(self, folder, cwd, data):
        sys.modules["__diamond_runner__"] = sys.modules["__main__"]  # kept alive
        sys.modules["__main__"] = self.main
        sys.argv = [""]
        sys.path[:] = [os.path.join(folder, "modules"), ""] + [p for p in sys.path if p and p != os.path.dirname(HERE)]
        offer_checkpoints()
        builtins.display = self.screen.display
        sys.meta_path.insert(0, AfterImport(dict(self.screen.patches(), jupyter_diamond=offer_data)))
        if not (cwd and os.path.isdir(cwd) and os.access(cwd, os.R_OK | os.X_OK)):
            cwd = os.path.join(folder, "work")
            if not os.path.isdir(cwd):
                os.mkdir(cwd, 0o700)
            link_data(cwd, data)
        os.chdir(cwd)
        return os.getcwd()

    def run(self, source, filename, lineno=1, show=False):
        """Execute the user's text as it stands at ``filename``; with ``show``, display the last expression."""
        remember_lines(source, filename, lineno)
        padded = "\n" * (lineno - 1) + source
        tree = compile(padded, filename, "exec", _ast.PyCF_ONLY_AST | self.flags, dont_inherit=True)
        last = None
        if show and tree.body and isinstance(tree.body[-1], _ast.Expr) and not ends_with_semicolon(source):
            last = _ast.Expression(tree.body.pop().value)
        self._execute(compile(tree, filename, "exec", self.flags, dont_inherit=True))
        if last is not None:
            self.screen.result(self._execute(compile(last, filename, "eval", self.flags, dont_inherit=True)))

    def _execute(self, code):
        for flag in self.future_flags:
            self.flags |= code.co_flags & flag
        value = eval(code, self.main.__dict__)
        if code.co_flags & 0x80:  # CO_COROUTINE: there is an await at top level
            import asyncio

            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
            value = self.loop.run_until_complete(value)
        return value

    def leave(self):
        """End what the cell left running on its event loop."""
        if self.loop is not None:
            import asyncio

            tasks = getattr(asyncio, "all_tasks", None) or asyncio.Task.all_tasks
            left = [task for task in tasks(self.loop) if not task.done()]
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True) if left else asyncio.sleep(0))
            self.loop.close()


def remember_lines(source, filename, lineno):
    """So that tracebacks, warnings and ``inspect`` show the user's own lines."""
    lines = list(linecache.cache[filename][2]) if filename in linecache.cache else []
    new = [line + "\n" for line in source.splitlines()]
    lines += ["\n"] * (lineno - 1 + len(new) - len(lines))
    lines[lineno - 1 : lineno - 1 + len(new)] = new
    linecache.cache[filename] = (sum(map(len, lines)), None, lines, filename)


def ends_with_semicolon(source):
    import tokenize

    passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.DEDENT)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    kept = [token for token in tokens if token.type not in passed_over]
    return bool(kept) and kept[-1].string == ";"


def describe(error):
    """The exception as a notebook keeps it, with the user's frames only."""
    import traceback  # late, like pickle: most cells need neither, and all would wait for them

    told = traceback.TracebackException(type(error), error, error.__traceback__)
    keep_users_frames(told, set())
    try:
        evalue = str(error)
    except Exception:  # __str__ is the user's code, and its failure must not hide the error it was to tell
        evalue = "<its str() failed>"
    lines = "".join(told.format()).rstrip("\n").split("\n")
    return {"ename": type(error).__name__, "evalue": evalue, "traceback": lines}


def keep_users_frames(told, seen):
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    frames = [f for f in told.stack if f.filename not in OWN_FILES and not f.filename.startswith("<frozen importlib")]
    while frames and "/asyncio/" in frames[0].filename:
        frames.pop(0)
    told.stack[:] = frames
    for other in [told.__cause__, told.__context__] + list(getattr(told, "exceptions", None) or ()):
        keep_users_frames(other, seen)


# --- what comes back -------------------------------------------------------------------------------------------------


class CannotReturn(Exception):
    """A value that does not travel; the message ends "x was not returned: ..."."""


class NoName(Exception):
    """The pickle would refer to something that the kernel does not have."""


class SignedFile:
    """Counts, digests and signs what is written."""

    def __init__(self, path, key):
        self.fd = open_private(path)
        self.bytes = 0
        self.sha256 = hashlib.sha256()
        self.hmac = hmac.new(key, digestmod=hashlib.sha256)

    def write(self, data):
        view = memoryview(data).cast("B") if not isinstance(data, bytes) else data
        write_all(self.fd, view)
        self.sha256.update(view)
        self.hmac.update(view)
        self.bytes += len(view)
        return len(view)

    closed = False

    def flush(self):
        pass

    def close(self):
        pass

    def writable(self):
        return True

    def readable(self):
        return False

    def seekable(self):
        return False

    def tell(self):
        return self.bytes


class Returns:
    """Writes the variables that were asked for into ``result/``."""

    def __init__(self, folder, key, spec):
        self.folder = folder
        self.key = key
        self.python = tuple(spec["python"])
        self.parquet = bool(spec.get("kernel_reads_parquet"))
        self.prelude = [item["name"] for item in spec["prelude"]]
        self.known = {}
        self.values = []
        self.missing = []

    def note_kernels_own(self, namespace):
        """What the kernel has too, before the cell can give a name another meaning."""
        self.known = {name: namespace[name] for name in self.prelude if name in namespace}

    def kernel_has(self, obj):
        """Whether the kernel finds this function or class of ``__main__`` by its name."""
        top = obj.__qualname__.partition(".")[0]
        return top in self.known and self.known[top] is getattr(sys.modules["__main__"], top, None)

    def save(self, names, namespace):
        os.makedirs(os.path.join(self.folder, "result"), 0o700, exist_ok=True)
        for number, name in enumerate(names):
            if name not in namespace:
                why = "the cell ended without a variable %r" % name
                self.missing.append({"name": name, "why": why})
                continue
            try:
                self.values.append(self._save(number, name, namespace[name]))
            except CannotReturn as refusal:
                self.missing.append({"name": name, "why": str(refusal)})
            except OSError as error:
                why = "%r was not returned: %s" % (name, disk_sentence(error, os.path.join(self.folder, "result")))
                self.missing.append({"name": name, "why": why})
            except Exception as error:  # __reduce__ and __getstate__ are the user's code
                why = "%r (%s) was not returned: %s: %s" % (
                    name,
                    type_name(namespace[name]),
                    type(error).__name__,
                    error,
                )
                self.missing.append({"name": name, "why": why})

    def _save(self, number, name, value):
        for codec, bytecode, write in self._ways(value):
            stem = name if re.match("[A-Za-z0-9_]+$", name) else "value-%d" % number
            file = "result/%s.%s" % (stem, codec)
            path = os.path.join(self.folder, file)
            signed = SignedFile(path + ".tmp", self.key)
            done = False
            try:
                write(signed)
                os.fsync(signed.fd)
                done = True
            except NoName as unknown:
                reason = str(unknown)
                continue
            finally:
                os.close(signed.fd)
                if not done:
                    os.unlink(path + ".tmp")
            os.rename(path + ".tmp", path)
            return {
                "name": name,
                "codec": codec,
                "file": file,
                "bytes": signed.bytes,
                "sha256": signed.sha256.hexdigest(),
                "hmac": signed.hmac.hexdigest(),
                "bytecode": bytecode,
                "type": type_name(value),
                "preview": preview(value),
            }
        raise CannotReturn("%r (%s) was not returned: %s" % (name, type_name(value), reason))

    def _ways(self, value):
        """(codec, minor Python of bytecode, writer), the best first. The same rules as cell/codecs.py in the kernel."""
        if is_exact_json(value):
            yield "json", "", lambda file: file.write(json.dumps(value).encode("ascii"))
            return
        if is_plain_array(value):
            write_array = sys.modules["numpy"].lib.format.write_array
            yield "npy", "", lambda file: write_array(file, value, allow_pickle=False)
            return
        if self.parquet and is_plain_table(value):
            yield "parquet", "", lambda file: value.to_parquet(file, engine="pyarrow")
            return
        yield "pickle", "", lambda file: by_reference(file, self.kernel_has).dump(value)
        if self.python[:2] == sys.version_info[:2]:
            try:
                import cloudpickle
            except ImportError:
                return
            yield (
                "pickle",
                "%d.%d" % self.python[:2],
                lambda file: by_value(cloudpickle, file, self.kernel_has).dump(value),
            )


def by_reference(file, kernel_has):
    """A pickler that refuses names of ``__main__`` that only this job has: the kernel never saw the cell's classes."""
    import pickle

    class ByReference(pickle.Pickler):
        def reducer_override(self, obj):  # called since Python 3.8
            if isinstance(obj, (types.FunctionType, type)):
                module, name = getattr(obj, "__module__", None), obj.__qualname__
                if module == "__main__" and not kernel_has(obj):
                    raise NoName("%s is defined in this cell only; define it in a cell that runs in your kernel" % name)
                if "<" in name:
                    raise NoName("%s has no name that your kernel could look up; return data instead" % name)
            return NotImplemented

    return ByReference(file, 4)


def by_value(cloudpickle, file, kernel_has):
    class ByValue(cloudpickle.CloudPickler):
        def reducer_override(self, obj):
            if isinstance(obj, io.IOBase) and not isinstance(obj, (io.BytesIO, io.StringIO)):
                raise CannotReturn("it holds an open file (%s)" % getattr(obj, "name", "?"))
            if (
                isinstance(obj, type)
                and obj.__module__ == "__main__"
                and "<" not in obj.__qualname__
                and kernel_has(obj)
            ):
                return obj.__qualname__  # the kernel's own class, not a copy of it
            return cloudpickle.CloudPickler.reducer_override(self, obj)

    return ByValue(file, 4)


def is_exact_json(value):
    nodes, containers, stack = 0, set(), [(value, 0)]
    while stack:
        part, depth = stack.pop()
        nodes += 1
        kind = type(part)
        if kind is list or kind is dict:
            if id(part) in containers or nodes + len(part) > 10000 or depth > 50:
                return False
            containers.add(id(part))
            if kind is dict and not all(type(key) is str and is_text(key) for key in part):
                return False
            stack.extend((item, depth + 1) for item in (part.values() if kind is dict else part))
        elif kind is str:
            if not is_text(part):
                return False
        elif kind is float:
            if part - part != 0:  # nan, inf
                return False
        elif kind is int:
            if part.bit_length() > 1024:
                return False
        elif part is not None and kind is not bool:
            return False
    return nodes <= 10000


def is_text(text):
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_plain_array(value):
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not getattr(numpy, "ndarray", None):
        return False
    dtype = value.dtype
    if dtype.hasobject or dtype.metadata is not None or dtype.isalignedstruct:
        return False
    layout = numpy.lib.format
    try:
        descr = layout.dtype_to_descr(dtype)
        return getattr(layout, "descr_to_dtype", numpy.dtype)(descr) == dtype
    except (TypeError, ValueError):
        return False


PLAIN_COLUMNS = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "datetime64[ms]", "datetime64[us]", "datetime64[ns]",
}  # fmt: skip


def is_plain_table(value):
    pandas = sys.modules.get("pandas")
    if pandas is None or type(value) is not getattr(pandas, "DataFrame", None):
        return False
    names, index = value.columns, value.index
    flags = getattr(value, "flags", None)
    return bool(
        not getattr(value, "attrs", None)
        and (flags is None or flags.allows_duplicate_labels)
        and len(names)
        and names.nlevels == 1
        and names.name is None
        and names.is_unique
        and names.dtype == pandas.Index(["a"]).dtype
        and all(type(name) is str and is_text(name) for name in names)
        and index.nlevels == 1
        and (index.name is None or (type(index.name) is str and index.name not in names))
        and (
            type(index).__name__ == "RangeIndex"
            or (
                type(index).__name__ in ("Index", "Int64Index", "Float64Index")
                and str(index.dtype) in ("int64", "float64")
            )
        )
        and all(is_plain_column(dtype, pandas) for dtype in value.dtypes)
        and importlib.util.find_spec("pyarrow") is not None
    )


def is_plain_column(dtype, pandas):
    if type(dtype).__name__ == "StringDtype":
        return getattr(dtype, "na_value", pandas.NA) is not pandas.NA
    return type(dtype).__module__.startswith("numpy") and dtype.isnative and str(dtype) in PLAIN_COLUMNS


def type_name(value):
    kind = type(value)
    name = getattr(kind, "__qualname__", kind.__name__)
    return name if kind.__module__ in ("builtins", "__main__") else "%s.%s" % (kind.__module__, name)


def preview(value):
    """One short line, whatever the value is."""
    try:
        if type(value).__name__ == "DataFrame" and hasattr(value, "columns"):
            text = "%d rows x %d columns: %s" % (value.shape + (", ".join(map(str, value.columns[:20])),))
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            text = "%s %s" % (tuple(value.shape), value.dtype)
        else:
            short = reprlib.Repr()
            short.maxstring = short.maxother = PREVIEW_LIMIT
            short.maxlist = short.maxtuple = short.maxdict = short.maxset = 10
            text = short.repr(value)
        text = " ".join(text.split())
    except Exception as error:  # a preview is a courtesy: a __repr__ that fails must not cost the value
        text = "<its repr failed: %s>" % type(error).__name__
    return text if len(text) <= PREVIEW_LIMIT else text[: PREVIEW_LIMIT - 1] + "…"


# --- the files that stay ---------------------------------------------------------------------------------------------

KEPT_LIMIT = 100000
KEPT_INLINE = 50  # so many are in the receipt itself, which is read far more often than all of them are
KEPT_LOOKS = 2000000
KEPT_CLOCKS_S = 2.0  # a file server's clock may be behind ours
KEPT_BLOCK = 1 << 20
KEPT_SMALL = 32768
KEPT_HURRY_S = 5.0
KEPT_SPARE_S = 30.0  # before the job's end by its scheduler's clock nothing is digested any more


class Kept:
    """The files that a task was asked to leave: found by pattern below the folder of its cell, measured, digested.

    ``*`` is any text within a name, ``**`` any number of folders; a last part that names a folder takes all of it, but
    for ``*`` alone. Names with a dot in front are found where the pattern has the dot, or names their folder.
    """

    def __init__(self, attempt, patterns, since=None):
        self.attempt = attempt
        self.known_since = since
        self.patterns = [[part for part in text.split("/") if part not in ("", ".")] for text in patterns]
        self.patterns = [parts + ["*"] if parts[-1:] == ["**"] else parts for parts in self.patterns]
        self.names = {part: name_matcher(part) for parts in self.patterns for part in parts}
        self.root = None
        self.since = None  # in a folder that others use, too, only what has changed from then on
        self.older = 0
        self.files = []
        self.left_out = {}
        self.types = {}
        self.gathered = threading.Lock()
        self.hurried_at = None

    def begin(self, root):
        """The cell is about to run in this folder."""
        self.root = root
        if os.path.realpath(root) != os.path.realpath(self.attempt.path("work")):
            self.since = self.known_since or time.time() - KEPT_CLOCKS_S

    def hurry(self, *_signal):
        """Also what SIGTERM does once the cell is over: what is known is written down before SIGKILL comes."""
        self.hurried_at = self.hurried_at or time.monotonic()

    def gather(self):
        """List and digest, once. Says in ``left_out`` what it passed over."""
        if not self.patterns or self.root is None or not self.gathered.acquire(False):
            return
        self.end_at = scheduled_end()
        try:
            self.files = sorted(self._walk(), key=lambda file: file["path"])
            self._digest()
        except Exception as trouble:  # a receipt without files is better than none
            self._leave_out("not listed (%s: %s)" % (type(trouble).__name__, trouble))
        for file in self.files:
            file.pop("at", None)

    def told(self):
        """What the receipt says. Where the disk has no room for all, it says the first ones, and that."""
        files = list(self.files)
        said = {
            "folder": self.root or "", "files": files[:KEPT_INLINE], "files_count": len(files),
            "files_bytes": sum(file["bytes"] for file in files), "files_unmatched": self._unmatched(files),
        }  # fmt: skip
        if len(files) > KEPT_INLINE:
            lines = b"".join(json_line(file) for file in files)
            try:
                put(self.attempt.path("files.jsonl"), lines)
                said["files_sha256"] = hashlib.sha256(lines).hexdigest()
            except OSError as trouble:
                said["files_count"] = KEPT_INLINE
                self.left_out[disk_sentence(trouble, "files.jsonl")] = len(files) - KEPT_INLINE
        said["files_left_out"] = sum(self.left_out.values())
        undigested = sum(1 for file in files if not file["sha256"])
        notes = ["%d: %s" % (count, why) for why, count in self.left_out.items()]
        if self.older:
            notes.append("%d were there before, and have not changed" % self.older)
        if undigested:
            notes.append("%d without a digest: the job's time was over, or they were being written" % undigested)
        said["files_note"] = "; ".join(notes)
        return said

    def _unmatched(self, files):
        if self.root is None:
            return []
        return sorted(set(range(len(self.patterns))) - {at for file in files for at in file["patterns"]})

    def _leave_out(self, why):
        self.left_out[why] = self.left_out.get(why, 0) + 1

    # A state is (pattern, how many of its parts are behind us); one that is through names all that is below.

    def _closed(self, states):
        """With those that a ``**`` leads to by naming no folder at all."""
        found, todo = set(), list(states)
        while todo:
            at, done = state = todo.pop()
            if state not in found:
                found.add(state)
                if self.patterns[at][done : done + 1] == ["**"]:
                    todo.append((at, done + 1))
        return found

    def _step(self, states, name):
        found = set()
        for at, done in states:
            parts = self.patterns[at]
            if done >= len(parts):
                found.add((at, done))
            elif parts[done] == "**":
                if not name.startswith("."):
                    found.add((at, done))
            elif self.names[parts[done]](name):
                found.add((at, done + 1))
        return found

    def _walk(self):
        """The files that a pattern names. Other folders are not looked into, nor are our own."""
        own = own_folders(self.attempt.folder)
        root = os.path.realpath(self.root)
        todo, looks, count = [(root, "", {(at, 0) for at in range(len(self.patterns))})], 0, 0
        while todo:
            folder, above, states = todo.pop()
            states = self._closed(states)
            for entry in entries_of(folder, self._leave_out):
                looks += 1
                if looks > KEPT_LOOKS or (self.hurried_at and time.monotonic() > self.hurried_at + KEPT_HURRY_S):
                    self._leave_out("folders with so much in them that the rest was not looked at")
                    return
                after = self._step(states, entry.name)
                found = self._look(entry, root, states, after) if after else None
                if found is None:
                    continue
                path, status, after = found
                if stat.S_ISDIR(status.st_mode):
                    if (status.st_dev, status.st_ino) not in own:
                        todo.append((path, above + entry.name + "/", self._below(after)))
                    continue
                ends = sorted(at for at, done in after if done == len(self.patterns[at]))
                if ends and self.since is not None and max(status.st_ctime, status.st_mtime) < self.since:
                    self.older += 1
                elif ends and stat.S_ISREG(status.st_mode) and self._may_be_told(above + entry.name, count):
                    count += 1
                    yield self._file(above + entry.name, path, status, ends)

    def _below(self, states):
        """What is left of the states in a folder: a pattern that ends with ``*`` alone names files only."""
        return {(at, done) for at, done in states if done < len(self.patterns[at]) or self.patterns[at][-1] != "*"}

    def _look(self, entry, root, states, after):
        """(path, its status, states), None where it is passed over. ``**`` follows no link, and none leads out."""
        try:
            if not entry.is_symlink():
                return entry.path, entry.stat(follow_symlinks=False), after
            path = os.path.realpath(entry.path)
            status = os.stat(path)
        except OSError:
            return None  # it is gone, or leads nowhere
        if not (path + "/").startswith(root.rstrip("/") + "/"):
            self._leave_out("links that lead out of the folder")
            return None
        if stat.S_ISDIR(status.st_mode):
            after = set() if entry.path.startswith(path + "/") else after - states
        return (path, status, after) if after else None

    def _may_be_told(self, path, count):
        if count >= KEPT_LIMIT:
            self._leave_out("more than %d files" % KEPT_LIMIT)
        elif not is_text(path):
            self._leave_out("names that are not UTF-8")
        else:
            return True
        return False

    def _file(self, relative, path, status, ends):
        return {
            "path": relative, "bytes": status.st_size, "mtime": status.st_mtime, "sha256": "",
            "media_type": self._media_type(relative), "patterns": ends, "at": path,
        }  # fmt: skip

    def _media_type(self, path):
        """By the name's end. A compressed file is what it is compressed by."""
        end = ".".join(path.rpartition("/")[2].lower().split(".")[1:][-2:])
        if end not in self.types:
            import mimetypes

            kind, packed = mimetypes.guess_type("x." + end)
            self.types[end] = ("application/" + {"gzip": "gzip"}.get(packed, "x-" + packed)) if packed else kind or ""
        return self.types[end]

    def _digest(self):
        """Each file once; side by side where they are large, or where the file system lets us wait.

        Hashing and reading let other threads run, but of small files that are near one thread reads more than two.
        """
        todo = iter(self.files)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        begun, busy = time.monotonic(), time.process_time()
        small = sum(file["bytes"] for file in self.files) < KEPT_SMALL * len(self.files)
        if small:
            self._work(itertools.islice(todo, 200))
            small = time.process_time() - busy > 0.6 * (time.monotonic() - begun)
        threads = [threading.Thread(target=self._work, args=(todo,)) for _ in range(0 if small else min(cores, 8) - 1)]
        for thread in threads:
            thread.daemon = True  # one that hangs on a file system does not keep the job
            thread.start()
        self._work(todo)
        for thread in threads:
            while thread.is_alive() and not (self.hurried_at and time.monotonic() > self.hurried_at + KEPT_HURRY_S):
                thread.join(0.5)

    def _work(self, todo):
        block = memoryview(bytearray(KEPT_BLOCK))
        for file in todo:
            if self._out_of_time():
                return
            try:
                digest_file(file, block, self._out_of_time)
            except OSError:
                continue  # without a digest: it is gone, or not ours to read

    def _out_of_time(self):
        return bool(self.hurried_at or RUNG or (self.end_at and time.time() > self.end_at - KEPT_SPARE_S))


def name_matcher(part):
    import fnmatch

    matches = re.compile(fnmatch.translate(part)).match
    return lambda name: bool(matches(name)) and (part.startswith(".") or not name.startswith("."))


def own_folders(folder):
    """The attempt's own, and those above it that hold attempts, by what tells them from all others."""
    above = os.path.dirname(folder)
    further = [above, os.path.dirname(above)]  # of a job array the member's is one deeper
    names = [os.path.basename(path) for path in further]
    held = further[: names.index("attempts") + 1] if "attempts" in names else []
    return {(status.st_dev, status.st_ino) for status in map(os.stat, [folder] + held)}


def entries_of(folder, leave_out):
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as trouble:
        leave_out("folders that cannot be read (%s)" % (trouble.strerror or trouble))
        return []


def digest_file(file, block, out_of_time):
    """Into ``file``, with the size that was read. Nothing where it changes meanwhile."""
    fd = os.open(file.pop("at"), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        before = os.fstat(fd)
        found, count = hashlib.sha256(), 0
        while True:
            size = os.readv(fd, [block])
            if not size:
                break
            found.update(block[:size])
            count += size
            if size < len(block):  # the end; whether it grows meanwhile is seen below
                break
            if out_of_time():
                return
        after = os.fstat(fd)
    finally:
        os.close(fd)
    if count == after.st_size and before.st_mtime_ns == after.st_mtime_ns:
        file.update(bytes=count, mtime=after.st_mtime, sha256=found.hexdigest())


def scheduled_end():
    """When Slurm ends the job, where it says so."""
    try:
        return float(os.environ["SLURM_JOB_END_TIME"])
    except (KeyError, ValueError):
        return None


def imported_packages():
    """{name: version} of installed packages that the cell had imported, as far as they say their version."""
    found = {}
    for name in sorted(name for name in list(sys.modules) if "." not in name):
        places = getattr(sys.modules[name], "__dict__", None) or {}
        file, version = places.get("__file__"), places.get("__version__")
        if isinstance(version, str) and re.search("/(site|dist)-packages/", str(file)) and len(found) < 200:
            found[name] = version[:50]
    return found


# --- the attempt from start to end -----------------------------------------------------------------------------------


class Attempt:
    """The folder of this attempt, and the two receipts at its end."""

    def __init__(self, folder, token, member=None, patterns=(), since=None):
        self.folder = folder
        self.kept = Kept(self, patterns, since)
        self.token = token
        self.member = member
        self.params = {}
        self.membership = {}
        self.recorder = None
        self.bell = None
        self.data = ()
        self.ended_at = None
        self.finished = threading.Lock()

    def path(self, name):
        return os.path.join(self.folder, name)

    def open(self):
        fd = open_private(self.path(".reserve"))
        try:
            write_all(fd, b"\0" * RESERVE_BYTES)
        except OSError:
            pass  # full already: the first real write will say so
        finally:
            os.close(fd)
        self.recorder = Recorder(self.path("outputs.jsonl"))

    def read_key(self):
        try:
            with open(self.path("key"), "rb") as file:
                return bytes.fromhex(file.read().decode("ascii").strip())
        except (OSError, ValueError) as error:
            raise Stop(EXIT_BAD_BUNDLE, "BadBundle", "the key of this attempt cannot be read: %s" % error)

    def choose_member(self, spec):
        """Which of a group's members this is: what it is given, and no other is."""
        members = spec.get("members") or {}
        if not members and self.member is None:
            return
        if self.member not in members:
            asked = "no member was named" if self.member is None else "member %s is none of them" % self.member
            raise Stop(EXIT_BAD_BUNDLE, "BadBundle", "the inputs are for %d members, and %s" % (len(members), asked))
        self.params = members[self.member]
        self.membership = {"member": int(self.member), "params": self.params}

    def finish(self, exit_code, error=None, values=(), missing=(), why=""):
        """Write manifest and end-file, with less in them when the disk is full. Returns the exit code."""
        if not self.finished.acquire(False):
            return exit_code
        tries = [(values, missing, False), (values, missing, True), ((), missing, True)]
        for kept, lost, make_room in tries:
            if make_room:
                self._make_room()
            manifest = self._manifest(exit_code, error, kept, lost, self.kept.told())
            try:
                put(self.path("manifest.json"), manifest)
                put(self.path("end.json"), self._end(exit_code, why, manifest))
                self._make_room()
                return exit_code
            except OSError as trouble:
                exit_code = exit_code or 1
                sentence = disk_sentence(trouble, self.folder)
                why = why if error else sentence
                error = error or {"ename": "OSError", "evalue": sentence, "traceback": []}
        try:
            put(self.path("end.json"), self._end(exit_code, why, b""))
        except OSError as trouble:
            sys.stderr.write("diamond: %s\n" % disk_sentence(trouble, self.folder))
        return exit_code

    def _make_room(self):
        try:
            os.unlink(self.path(".reserve"))
        except OSError:
            pass

    def _manifest(self, exit_code, error, values, missing, files):
        used = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return json_line(
            {
                **self.membership,
                **files,
                "format": FORMAT,
                "token": self.token,
                "outcome": "FAILED" if exit_code else "OK",
                "error": error,
                "values": list(values),
                "missing": list(missing),
                "outputs_bytes": self.recorder.bytes,
                "outputs_truncated": self.recorder.truncated,
                "python": PYTHON,
                "packages": imported_packages(),
                "modules": [name for name in os.environ.get("LOADEDMODULES", "").split(":") if name],
                "host": HOST,
                "started_at": STARTED_AT,
                "ended_at": self.ended_at or time.time(),
                "max_rss_bytes": max(used) * (1 if sys.platform == "darwin" else 1024),
            }
        )

    def _end(self, exit_code, why, manifest):
        return json_line(
            {
                "format": FORMAT,
                "token": self.token,
                "by": "runner",
                "outcome": "FAILED" if exit_code else "OK",
                "exit_code": exit_code,
                "at": time.time(),
                "manifest_sha256": hashlib.sha256(manifest).hexdigest() if manifest else "",
                "why": why,
            }
        )

    def fail_stuck(self):
        """Called off the main thread, when the cell does not react to SIGTERM (it is in a library's inner loop)."""
        self.kept.hurry()
        self.kept.gather()
        self.finish(EXIT_TERMINATED, terminated_error(), why=terminated_error()["evalue"])
        os._exit(EXIT_TERMINATED)


def terminated_error():
    return {"ename": "Terminated", "evalue": "terminated by the scheduler", "traceback": []}


def open_bundle(attempt, digest):
    """The bundle as (spec, tar), with ``modules/`` unpacked. Stop when it is not what was submitted."""
    try:
        file = open(attempt.path("bundle.tar"), "rb")
        found = hashlib.sha256()
        for block in iter(lambda: file.read(1 << 20), b""):
            found.update(block)
        if not hmac.compare_digest(found.hexdigest(), digest):
            raise Stop(EXIT_BAD_BUNDLE, "BadBundle", "the inputs at the site are not the ones that were submitted")
        file.seek(0)
        bundle = tarfile.open(fileobj=file, mode="r:")
        for member in bundle.getmembers():
            unpack_module(attempt, bundle, member)
        spec = json.loads(bundle.extractfile("spec.json").read().decode("utf-8"))
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        sentence = "the inputs at the site cannot be read: %s: %s" % (type(error).__name__, error)
        raise Stop(EXIT_BAD_BUNDLE, "BadBundle", sentence)
    if spec.get("format") != FORMAT:
        raise Stop(EXIT_BAD_BUNDLE, "BadBundle", "the inputs have format %r, not %d" % (spec.get("format"), FORMAT))
    return spec, bundle


def unpack_module(attempt, bundle, member):
    parts = member.name.split("/")
    if not (member.isreg() or member.isdir()) or ".." in parts or member.name.startswith("/"):
        raise Stop(EXIT_BAD_BUNDLE, "BadBundle", "the inputs hold %r, which is not a plain file below" % member.name)
    if parts[0] != "modules" or not member.isreg():
        return
    path = attempt.path(member.name)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    fd = open_private(path)
    try:
        write_all(fd, bundle.extractfile(member).read())
    finally:
        os.close(fd)


def check_site(spec):
    """Stop with one sentence when this interpreter cannot run the cell."""
    wanted = tuple(spec["python"])
    if spec["same_minor"] and wanted[:2] != tuple(sys.version_info[:2]):
        names = ", ".join(spec["same_minor"])
        raise Stop(
            EXIT_NO_PYTHON,
            "PythonMismatch",
            "%s travels as bytecode of Python %d.%d, but %s on %s is Python %s; give the function a name and a source, "
            "or set another python for this site" % (names, wanted[0], wanted[1], sys.executable, HOST, PYTHON),
        )
    absent = [name for name in spec["requires"] if not is_importable(name)]
    if absent:
        raise Stop(
            EXIT_MISSING_IMPORT,
            "ModuleNotFoundError",
            "the cell needs the module %s, which %s (Python %s) on %s does not have; install it there, or set another "
            "python for this site" % (" and ".join(absent), sys.executable, PYTHON, HOST),
        )


def is_importable(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
    except Exception:  # a parent package that fails on import: the cell's own import will show how
        return True


def replay(notebook, spec, bundle):
    for item in spec["prelude"]:
        if item["kind"] == "statement":
            notebook.run(item["source"], item["filename"], item["lineno"])
            continue
        data = bundle.extractfile("values/" + item["file"]).read()
        try:
            notebook.main.__dict__[item["name"]] = decode(item["codec"], data)
        except Exception as error:
            where = (item["name"], PYTHON, HOST, type(error).__name__, error)
            raise Stop(1, "ValueMissing", "the variable %r cannot be rebuilt by Python %s on %s: %s: %s" % where)


def decode(codec, data):
    if codec == "json":
        return json.loads(data.decode("ascii"))
    if codec == "npy":
        import numpy

        return numpy.load(io.BytesIO(data), allow_pickle=False)
    if codec == "parquet":
        import pandas

        return pandas.read_parquet(io.BytesIO(data), engine="pyarrow")
    import pickle

    return pickle.loads(data)


def run_bash(attempt, spec):
    """The cell as a bash script. Its output comes through the pipes."""
    import subprocess

    put(attempt.path("cell.sh"), spec["cell"].encode("utf-8"))
    own = {name: exported(value) for name, value in attempt.params.items()}
    process = subprocess.Popen(["bash", attempt.path("cell.sh")], stdin=subprocess.DEVNULL, env=dict(os.environ, **own))
    attempt.bell.child = process.pid
    try:
        code = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    if code == EXIT_CONTINUED:
        raise SystemExit(code)
    if code:
        how = "with exit code %d" % code if code > 0 else "by signal %d" % -code
        raise Stop(code if code > 0 else 128 - code, "BashError", "the bash cell ended %s" % how)


def exported(value):
    """A member's value as a shell has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def run_cell(attempt, spec, bundle, cwd):
    """Run everything; returns (exit code, error or None, Returns)."""
    screen = Screen(attempt.recorder)
    notebook = Notebook(screen)
    returns = Returns(attempt.folder, attempt.read_key(), spec)
    attempt.kept.root = notebook.enter(attempt.folder, cwd, attempt.data)
    code, error = 0, None
    try:
        if spec["language"] == "bash":
            run_bash(attempt, spec)
        else:
            check_site(spec)
            notebook.main.__dict__.update(attempt.params)
            replay(notebook, spec, bundle)
            returns.note_kernels_own(notebook.main.__dict__)
            notebook.run(spec["cell"], spec["cell_filename"], show=True)
            notebook.leave()
    except SystemExit as leaving:
        code = exit_code_of(leaving)
        error = describe(leaving) if code not in (0, EXIT_CONTINUED) else None
    except KeyboardInterrupt as interrupt:
        code, error = EXIT_INTERRUPTED, describe(interrupt)
    except (Stop, Terminated):
        raise
    except BaseException as trouble:
        code, error = 1, describe(trouble)
    if os.getpid() != attempt.recorder.pid:  # a child that the cell forked, and that ran on until here
        os._exit(code)
    attempt.ended_at = time.time()
    try:
        screen.show_figures()
    except Exception as trouble:
        sys.stderr.write("\n".join(describe(trouble)["traceback"]) + "\n")
    if code == EXIT_CONTINUED:
        return code, None, returns
    returns.save(spec["outputs"], notebook.main.__dict__)
    if not error and returns.missing:
        code = 1
        sentence = "; ".join(item["why"] for item in returns.missing)
        error = {"ename": "ResultMissing", "evalue": sentence, "traceback": []}
    return code, error, returns


def exit_code_of(leaving):
    if leaving.code is None or isinstance(leaving.code, int):
        return ((leaving.code or 0) & 0xFF) or (1 if leaving.code else 0)
    sys.stderr.write("%s\n" % (leaving.code,))
    return 1


def check_folder(folder):
    status = os.stat(folder)
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        sys.stderr.write("diamond: %s is open to others; only a folder of your own with mode 0700 is used\n" % folder)
        sys.exit(EXIT_REFUSED)


def on_sigterm(recorder):
    def handle(_number, _frame):
        if os.getpid() != recorder.pid:  # a forked child dies as it would anywhere
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        raise Terminated

    return handle


def keep_signals_of_children_apart(handler):
    """A forked child shares the pipe that wakes us at SIGTERM: what ends it (a pool's end) must not count as our end.

    And it ends at once: with our ``handler`` a child that is about to wait would not hear of its end, nor one that
    computes, and a pool that waits for its workers would wait for ever. A handler of the cell's own stays.
    SIGTERM waits while a child is made, so that none comes before it has let go of the pipe. Python 3.6 has no such
    hooks: there a cell may go on for five seconds after it has ended a forked child by SIGTERM.
    """
    if not hasattr(os, "register_at_fork"):
        return
    masks = threading.local()

    def before():
        masks.old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def in_child():
        with contextlib.suppress(ValueError):  # not in the main thread of the main interpreter: none was set
            signal.set_wakeup_fd(-1)
            if signal.getsignal(signal.SIGTERM) is handler:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        after()

    def after():
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.old)

    os.register_at_fork(before=before, after_in_child=in_child, after_in_parent=after)


def show_error(recorder, error):
    """In the outputs as an error, in the log as text."""
    lines = error["traceback"] or ["%s: %s" % (error["ename"], error["evalue"])]
    recorder.show(dict(error, output_type="error", traceback=lines))
    try:
        write_all(recorder.log["stderr"], ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
    except OSError as trouble:
        recorder.trouble = disk_sentence(trouble, "job.out")


def begin(options, patterns):
    folder = os.getcwd()
    check_folder(folder)
    os.environ["MPLBACKEND"] = "Agg"
    os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
    since = float(options["--since"]) if "--since" in options else None
    attempt = Attempt(folder, options["--token"], options.get("--member"), patterns, since)
    attempt.open()
    return attempt


def main(arguments):
    pairs = list(zip(arguments[::2], arguments[1::2]))
    options = dict(pairs)
    attempt = begin(options, [value for name, value in pairs if name == "--keep"])
    attempt.data = [value for name, value in pairs if name == "--data"]
    recorder = attempt.recorder
    recorder.on_stuck = attempt.fail_stuck
    recorder.start()
    handler = on_sigterm(recorder)
    signal.signal(signal.SIGTERM, handler)
    keep_signals_of_children_apart(handler)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # shells do that to what they start in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code, error, values, missing = 0, None, (), ()
    try:
        attempt.bell = prepare_checkpoints(attempt, options)
        recorder.on_tick = attempt.bell.look
        spec, bundle = open_bundle(attempt, options["--bundle-sha256"])
        attempt.choose_member(spec)
        code, error, returns = run_cell(attempt, spec, bundle, options.get("--cwd"))
        values, missing = returns.values, returns.missing
        signal.signal(signal.SIGTERM, attempt.kept.hurry)
    except Stop as stop:
        signal.signal(signal.SIGTERM, attempt.kept.hurry)
        code, error = stop.exit_code, {"ename": stop.ename, "evalue": stop.sentence, "traceback": []}
    except Terminated:
        signal.signal(signal.SIGTERM, attempt.kept.hurry)
        code, error = EXIT_TERMINATED, terminated_error()
    if error:
        show_error(recorder, error)
    recorder.stop()
    attempt.kept.gather()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    why = "%s: %s" % (error["ename"], error["evalue"]) if error else recorder.trouble
    if code == EXIT_CONTINUED:
        why = "it left off, to be continued from its checkpoint"
    code = attempt.finish(code, error, values, missing, why[:500])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
