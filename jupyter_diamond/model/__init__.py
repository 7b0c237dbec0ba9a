"""Pure values: what a site, an envelope, a task, a decision, an event and a result are. No I/O, no clock."""
