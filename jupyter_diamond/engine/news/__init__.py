"""Who waits for what to happen, and how each is told: at least once, in order, in few words."""
