"""What a site's batch system speaks: text out, text in."""
