"""One AMQP client of the broker: frames in, frames out."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pika import BasicProperties, frame, spec

from .messages import Message, Queue

if TYPE_CHECKING:
    from .broker import Broker

CAPABILITIES = dict.fromkeys(
    (
        "publisher_confirms",
        "basic.nack",
        "consumer_cancel_notify",
        "connection.blocked",
        "authentication_failure_close",
    ),
    True,
)


@dataclass
class Publishing:
    """A message that comes in several frames."""

    method: Any
    properties: BasicProperties = field(default_factory=BasicProperties)
    size: int | None = None
    body: bytes = b""

    @property
    def complete(self) -> bool:
        return self.size is not None and len(self.body) >= self.size


@dataclass(eq=False)
class Subscription:
    """A consumer at the other end of the line."""

    connection: Connection
    channel: int
    tag: str
    no_ack: bool
    exclusive: bool

    def deliver(self, queue: Queue, message: Message) -> None:
        self.connection.deliver(self, queue, message)


class Connection:
    """The conversation with one client, on a thread of its own. Methods ``on_class_method`` answer what it says."""

    def __init__(self, broker: Broker, client: socket.socket) -> None:
        self._broker, self._client = broker, client
        self._writing = threading.Lock()
        self._frame_max = 131_072
        self._delivery = itertools.count(1)
        self._unacked: dict[tuple[int, int], tuple[Queue, Message]] = {}  # (channel, delivery tag)
        self._confirming: dict[int, itertools.count[int]] = {}
        self._publishing: dict[int, Publishing] = {}

    def run(self) -> None:
        received = b""
        try:
            while data := self._client.recv(65_536):
                received += data
                while True:
                    size, one = frame.decode_frame(received)
                    if one is None:
                        break
                    received = received[size:]
                    with self._broker.lock:
                        self._take(one)
                    if not received:
                        break
        finally:
            with self._broker.lock:
                self._forget(None)

    def cut(self) -> None:
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)

    def deliver(self, to: Subscription, queue: Queue, message: Message) -> None:
        tag = next(self._delivery)
        if not to.no_ack:
            self._unacked[to.channel, tag] = (queue, message)
        where = spec.Basic.Deliver(to.tag, tag, message.redelivered, message.exchange, message.routing_key)
        self._send_content(to.channel, where, message)

    def _take(self, one: Any) -> None:
        channel = getattr(one, "channel_number", 0)
        if isinstance(one, frame.ProtocolHeader):
            self._say(
                0, spec.Connection.Start(0, 9, {"product": "standin", "capabilities": CAPABILITIES}, "PLAIN", "en_US")
            )
        elif isinstance(one, frame.Heartbeat):
            self._send(frame.Heartbeat())
        elif isinstance(one, frame.Header):
            publishing = self._publishing[channel]
            publishing.properties, publishing.size = one.properties, one.body_size
            self._published(channel)
        elif isinstance(one, frame.Body):
            self._publishing[channel].body += one.fragment
            self._published(channel)
        else:
            getattr(self, "on_" + type(one.method).__qualname__.replace(".", "_").lower())(channel, one.method)

    def _send(self, *frames: Any) -> None:
        with self._writing, contextlib.suppress(OSError):  # it is gone: run() ends by itself
            self._client.sendall(b"".join(one.marshal() for one in frames))

    def _say(self, channel: int, method: Any) -> None:
        self._send(frame.Method(channel, method))

    def _answer(self, channel: int, asked: Any, method: Any) -> None:
        if not getattr(asked, "nowait", False):
            self._say(channel, method)

    def _send_content(self, channel: int, method: Any, message: Message) -> None:
        step = self._frame_max - 8
        parts = [message.body[at : at + step] for at in range(0, len(message.body), step)]
        header = frame.Header(channel, len(message.body), message.properties)
        self._send(frame.Method(channel, method), header, *(frame.Body(channel, part) for part in parts))

    def _forget(self, channel: int | None) -> None:
        """A channel, or all of them, is gone: its consumers are no more, and what they did not ack goes back."""
        for queue in self._broker.queues.values():
            queue.consumers = [one for one in queue.consumers if not self._is_mine(one, channel)]
        back = sorted((key for key in self._unacked if channel in (None, key[0])), reverse=True)
        queues = []
        for key in back:
            queue, message = self._unacked.pop(key)
            self._broker.requeue(queue, message)
            queues.append(queue)
        for queue in queues:
            self._broker.pump(queue)

    def _is_mine(self, consumer: Any, channel: int | None) -> bool:
        return getattr(consumer, "connection", None) is self and channel in (None, consumer.channel)

    def _refuse(self, channel: int, code: int, text: str, asked: Any) -> None:
        self._forget(channel)
        self._say(channel, spec.Channel.Close(code, text, asked.INDEX >> 16, asked.INDEX & 0xFFFF))

    # what clients say, by AMQP's own names

    def on_connection_startok(self, _: int, __: Any) -> None:
        self._say(0, spec.Connection.Tune(2047, self._frame_max, 60))

    def on_connection_tuneok(self, _: int, method: Any) -> None:
        self._frame_max = method.frame_max or self._frame_max

    def on_connection_open(self, _: int, __: Any) -> None:
        self._say(0, spec.Connection.OpenOk())

    def on_connection_close(self, _: int, __: Any) -> None:
        self._say(0, spec.Connection.CloseOk())
        self.cut()

    def on_connection_closeok(self, _: int, __: Any) -> None:
        self.cut()

    def on_channel_open(self, channel: int, _: Any) -> None:
        self._say(channel, spec.Channel.OpenOk())

    def on_channel_close(self, channel: int, _: Any) -> None:
        self._forget(channel)
        self._say(channel, spec.Channel.CloseOk())

    def on_channel_closeok(self, channel: int, _: Any) -> None:
        self._forget(channel)

    def on_basic_qos(self, channel: int, _: Any) -> None:
        self._say(channel, spec.Basic.QosOk())

    def on_confirm_select(self, channel: int, method: Any) -> None:
        self._confirming[channel] = itertools.count(1)
        self._answer(channel, method, spec.Confirm.SelectOk())

    def on_exchange_declare(self, channel: int, method: Any) -> None:
        if method.passive and method.exchange not in self._broker.exchanges:
            self._refuse(channel, 404, f"NOT_FOUND - no exchange '{method.exchange}' in vhost '/'", method)
            return
        self._broker.declare_exchange(method.exchange, method.type)
        self._answer(channel, method, spec.Exchange.DeclareOk())

    def on_queue_declare(self, channel: int, method: Any) -> None:
        if method.passive and method.queue not in self._broker.queues:
            self._refuse(channel, 404, f"NOT_FOUND - no queue '{method.queue}' in vhost '/'", method)
            return
        queue = self._broker.declare_queue(method.queue)
        self._answer(channel, method, spec.Queue.DeclareOk(queue.name, len(queue.messages), len(queue.consumers)))

    def on_queue_bind(self, channel: int, method: Any) -> None:
        self._broker.bind(method.exchange, method.queue, method.routing_key)
        self._answer(channel, method, spec.Queue.BindOk())

    def on_basic_consume(self, channel: int, method: Any) -> None:
        queue = self._broker.queues.get(method.queue)
        if queue is None:
            self._refuse(channel, 404, f"NOT_FOUND - no queue '{method.queue}' in vhost '/'", method)
            return
        if queue.closed_to_others or (method.exclusive and queue.consumers):
            self._refuse(channel, 403, f"ACCESS_REFUSED - queue '{method.queue}' in exclusive use", method)
            return
        tag = method.consumer_tag or "ctag-" + uuid.uuid4().hex
        self._answer(channel, method, spec.Basic.ConsumeOk(tag))
        self._broker.consume(queue, Subscription(self, channel, tag, method.no_ack, method.exclusive))

    def on_basic_cancel(self, channel: int, method: Any) -> None:
        for queue in self._broker.queues.values():
            queue.consumers = [
                one for one in queue.consumers if not (self._is_mine(one, channel) and one.tag == method.consumer_tag)
            ]
        self._answer(channel, method, spec.Basic.CancelOk(method.consumer_tag))

    def on_basic_ack(self, channel: int, method: Any) -> None:
        for key in self._meant(channel, method):
            _, message = self._unacked.pop(key)
            self._broker.on_ack(message)

    def on_basic_nack(self, channel: int, method: Any) -> None:
        for key in reversed(self._meant(channel, method)):
            queue, message = self._unacked.pop(key)
            if method.requeue:
                self._broker.requeue(queue, message)
                self._broker.pump(queue)

    def _meant(self, channel: int, method: Any) -> list[tuple[int, int]]:
        """Keys of the deliveries that an ack or a nack speaks of; tag 0 with ``multiple`` is all of them."""
        tag = method.delivery_tag
        return [
            key
            for key in sorted(self._unacked)
            if key[0] == channel and (key[1] == tag or (method.multiple and (key[1] <= tag or not tag)))
        ]

    def on_basic_publish(self, channel: int, method: Any) -> None:
        self._publishing[channel] = Publishing(method)

    def _published(self, channel: int) -> None:
        publishing = self._publishing[channel]
        if not publishing.complete:
            return
        method = publishing.method
        message = Message(method.exchange, method.routing_key, publishing.properties, publishing.body)
        wanted = self._broker.publish(message)
        if not wanted and method.mandatory:
            self._send_content(
                channel, spec.Basic.Return(312, "NO_ROUTE", method.exchange, method.routing_key), message
            )
        if channel in self._confirming:
            self._say(channel, spec.Basic.Ack(next(self._confirming[channel]), multiple=False))
