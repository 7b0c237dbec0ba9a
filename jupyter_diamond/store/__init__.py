"""The durable store: tasks, attempts, events, and the lease that says who advances work."""
