"""Language models: which one, its key, its bounds, and what goes wrong with it."""
