"""Displays are replaced from any thread, and no client misses what came between two cells."""

from types import SimpleNamespace

from jupyter_diamond.notebook.publisher import Publisher


class Channel:
    def __init__(self):
        self.sent = []

    def publish(self, data, metadata, *, transient, update=False):
        self.sent.append((transient["display_id"], data, update))


class Shell:
    """What the publisher uses of a kernel's shell."""

    def __init__(self):
        self.kernel = object()
        self.display_pub = Channel()
        self.hooks = {}
        self.events = SimpleNamespace(register=self.hooks.__setitem__)


def test_what_came_between_two_cells_is_said_again_in_the_next_one():
    shell = Shell()
    publisher = Publisher(shell)
    publisher.update({"text/plain": "while a cell ran"}, display_id="a")
    shell.hooks["post_run_cell"](None)
    publisher.update({"text/plain": "old"}, display_id="b")
    publisher.update({"text/plain": "new"}, display_id="b")
    sent = len(shell.display_pub.sent)
    assert sent == 3
    shell.hooks["pre_run_cell"](None)
    assert shell.display_pub.sent[sent:] == [("b", {"text/plain": "new"}, True)]
    shell.hooks["post_run_cell"](None)
    shell.hooks["pre_run_cell"](None)
    assert len(shell.display_pub.sent) == sent + 1
