"""When a job would start: what is free now, the visible queue simulated forward, or the scheduler's own estimate."""
