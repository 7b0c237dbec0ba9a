"""What code shows of what it needs: read by its syntax tree and its commands, never run."""
