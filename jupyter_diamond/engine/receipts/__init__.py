"""Receipts: what is known of an attempt, the files that it left, and both as a crate for other people."""
