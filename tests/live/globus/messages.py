"""Messages and queues of the broker."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from pika import BasicProperties


@dataclass
class Message:
    """What was published, on its way."""

    exchange: str
    routing_key: str
    properties: BasicProperties
    body: bytes
    redelivered: bool = False


class Consumer(Protocol):
    """Who takes messages from a queue."""

    exclusive: bool

    def deliver(self, queue: Queue, message: Message) -> None: ...


@dataclass
class Queue:
    """Messages that wait, and who takes them, in turn."""

    name: str
    messages: deque[Message] = field(default_factory=deque)
    consumers: list[Consumer] = field(default_factory=list)
    turn: int = 0

    @property
    def closed_to_others(self) -> bool:
        return any(consumer.exclusive for consumer in self.consumers)
