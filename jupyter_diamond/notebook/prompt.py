"""Asking the user of a kernel for a line that shall not be saved with the notebook."""

from __future__ import annotations

import getpass

from IPython.core.error import StdinNotImplementedError

from jupyter_diamond.errors import InvalidRequest


def ask_code() -> str:
    """The code of a login, typed or pasted below the cell. Hidden: what JupyterLab echoes is saved in the notebook."""
    try:
        code = getpass.getpass("Code: ").strip()
    except (StdinNotImplementedError, EOFError) as problem:
        raise InvalidRequest(
            "This kernel cannot ask for the code here. Log in in the Diamond sidebar, or in a terminal: "
            "jupyter diamond login."
        ) from problem
    except KeyboardInterrupt:
        code = ""
    if not code:
        raise InvalidRequest("No code was given, so nothing changed. The link stays good for half an hour.")
    return code
