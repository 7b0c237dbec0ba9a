"""JupyterLab in a browser: what the extension costs at the start, and how screens hold up with a full pool."""
