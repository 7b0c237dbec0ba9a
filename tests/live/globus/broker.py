"""A small AMQP 0-9-1 broker in memory, on pika's own frame codec: what the endpoint agent and the SDK's Executor use.

Topic, direct, fanout and the default exchange; queues; consumers, exclusive too; ack and nack with redelivery; publisher
confirms; mandatory returns. Nothing survives the process. ``connection.py`` speaks with the clients.
"""

from __future__ import annotations

import contextlib
import queue
import re
import socket
import socketserver
import threading
import uuid
from collections.abc import Callable

from .connection import Connection
from .messages import Consumer, Message, Queue


class Listener:
    """A consumer in this process: its function is called in a thread of its own, one message after the other."""

    exclusive = False

    def __init__(self, act: Callable[[Message], None]) -> None:
        self._act = act
        self._inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def deliver(self, _: Queue, message: Message) -> None:
        self._inbox.put(message)

    def close(self) -> None:
        self._inbox.put(None)

    def _run(self) -> None:
        while (message := self._inbox.get()) is not None:
            self._act(message)


class Broker:
    """The broker, listening from the moment it is made."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.queues: dict[str, Queue] = {}
        self.exchanges = {"": "direct"}  # name -> type
        self.on_ack: Callable[[Message], None] = lambda _: None
        self._bindings: list[tuple[str, str, str]] = []  # exchange, queue, key
        self._listeners: list[Listener] = []
        self._connections: set[Connection] = set()
        self._server = _tcp(self)
        self.url = f"amqp://guest:guest@127.0.0.1:{self._server.server_address[1]}/%2F"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def declare_exchange(self, name: str, kind: str) -> None:
        self.exchanges.setdefault(name, kind)

    def declare_queue(self, name: str = "") -> Queue:
        name = name or "amq.gen-" + uuid.uuid4().hex
        with self.lock:
            return self.queues.setdefault(name, Queue(name))

    def bind(self, exchange: str, queue: str, key: str) -> None:
        with self.lock:
            self._bindings.append((exchange, queue, key))

    def listen(self, queue: str, act: Callable[[Message], None]) -> None:
        """Let ``act`` take every message of the queue."""
        listener = Listener(act)
        self._listeners.append(listener)
        self.consume(self.declare_queue(queue), listener)

    def publish(self, message: Message) -> bool:
        """Route a message; False where no queue wants it."""
        with self.lock:
            wanted = self._route(message)
            for target in wanted:
                target.messages.append(message)
                self.pump(target)
        return bool(wanted)

    def consume(self, queue: Queue, consumer: Consumer) -> None:
        with self.lock:
            queue.consumers.append(consumer)
            self.pump(queue)

    def requeue(self, queue: Queue, message: Message) -> None:
        """Take back what was handed out, to the head of the queue."""
        message.redelivered = True
        queue.messages.appendleft(message)

    def drain(self, name: str) -> list[Message]:
        """Take away all that waits in a queue."""
        with self.lock:
            waiting = self.declare_queue(name).messages
            taken = list(waiting)
            waiting.clear()
        return taken

    def pump(self, queue: Queue) -> None:
        """Hand out what waits, to the consumers in turn."""
        with self.lock:
            while queue.messages and queue.consumers:
                queue.turn += 1
                queue.consumers[queue.turn % len(queue.consumers)].deliver(queue, queue.messages.popleft())

    def cut(self) -> None:
        """Break every connection."""
        for connection in list(self._connections):
            connection.cut()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.cut()
        for listener in self._listeners:
            listener.close()

    def serve(self, client: socket.socket) -> None:
        """Speak with one client until it goes."""
        connection = Connection(self, client)
        self._connections.add(connection)
        try:
            connection.run()
        finally:
            self._connections.discard(connection)

    def _route(self, message: Message) -> list[Queue]:
        if message.exchange == "":
            return [self.queues[message.routing_key]] if message.routing_key in self.queues else []
        kind = self.exchanges.get(message.exchange, "direct")
        names = [
            name
            for exchange, name, key in self._bindings
            if exchange == message.exchange and name in self.queues and _matches(kind, key, message.routing_key)
        ]
        return [self.queues[name] for name in dict.fromkeys(names)]


def _matches(kind: str, key: str, routing_key: str) -> bool:
    if kind == "fanout":
        return True
    if kind == "direct":
        return key == routing_key
    words = {"*": r"[^.]+", "#": r".*"}
    pattern = r"\.".join(words.get(part, re.escape(part)) for part in key.split("."))
    return re.fullmatch(pattern, routing_key) is not None


def _tcp(broker: Broker) -> socketserver.ThreadingTCPServer:
    class Serve(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):  # the client went, or the line was cut
                broker.serve(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False
        allow_reuse_address = True

    return Server(("127.0.0.1", 0), Serve)
