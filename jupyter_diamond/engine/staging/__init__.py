"""Data by name: what there is of it, brought to a site before a job, and brought away after it."""
