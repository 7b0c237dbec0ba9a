"""What advances work: collector, submission, watching, recovery."""
