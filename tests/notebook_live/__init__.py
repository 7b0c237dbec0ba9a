"""A demanding user: a real JupyterLab server, real kernels, real jobs, and everything that goes wrong."""
