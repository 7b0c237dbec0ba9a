"""What cells run in at sites: named environments, those that are built there, and what is asked of them."""
