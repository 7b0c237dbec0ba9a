"""The tools that agents have: defined once, and shown by every face."""
