"""What calls of language models took."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import case, delete, func, insert, or_, select

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.model_call import ModelCall, ModelUse

from .database import Database
from .schema import model_calls

KEPT_S = 180 * 86_400.0
"""As long as other history is kept."""


class ModelCalls:
    """The model calls of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, call: ModelCall) -> None:
        """Note one call. What is older than half a year goes."""
        row = {**call.model_dump(exclude={"at"}), "at": call.at.timestamp()}
        with self._database.write(asked_again=True) as connection:
            connection.execute(insert(model_calls).values(**row))
            connection.execute(delete(model_calls).where(model_calls.c.at < row["at"] - KEPT_S))

    def newest(self, limit: int = 100, channel: str | None = None) -> tuple[ModelCall, ...]:
        """The newest calls, newest first; of one channel if given."""
        query = select(model_calls).order_by(model_calls.c.row.desc()).limit(limit)
        if channel is not None:
            query = query.where(model_calls.c.channel == channel)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return tuple(
            ModelCall.model_validate(
                {**{name: row[name] for name in row if name != "row"}, "at": from_epoch(row["at"])}
            )
            for row in rows
        )

    def use(self, since: datetime, channel: str | None = None) -> ModelUse:
        """What was taken since then; by one channel if given."""
        of = model_calls.c
        silent = or_(of.prompt_tokens.is_(None), of.answer_tokens.is_(None))
        query = select(
            func.count().label("calls"),
            func.coalesce(func.sum(case((silent, 1), else_=0)), 0).label("unmeasured"),
            func.coalesce(func.sum(of.prompt_tokens), 0).label("prompt_tokens"),
            func.coalesce(func.sum(of.answer_tokens), 0).label("answer_tokens"),
            func.coalesce(func.sum(of.seconds), 0.0).label("seconds"),
        ).where(of.at >= since.timestamp())
        if channel is not None:
            query = query.where(of.channel == channel)
        with self._database.read() as connection:
            return ModelUse.model_validate(dict(connection.execute(query).mappings().one()))
