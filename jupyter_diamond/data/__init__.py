"""How data moves: what lies at a location, the movers, and putting what came into its place."""
