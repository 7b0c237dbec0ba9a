"""The chat: a persona of Jupyter AI that proposes, goes quiet while jobs run, and comes back when they end."""
