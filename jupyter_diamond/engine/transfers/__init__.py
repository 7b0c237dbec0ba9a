"""Durable transfers: what is asked of them, what drives them, and who stands at each end."""
