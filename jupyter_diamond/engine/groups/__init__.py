"""Groups of tasks: how they are shared out over sites, and how round follows round."""
