"""Real components for tests, demos and benchmarks: Slurm clusters, Jupyter servers, browsers."""
