"""How a site is reached."""
