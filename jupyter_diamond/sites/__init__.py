"""The sites that the user configured."""
