"""Globus: who we are to it, and every request that we make of it. Nothing here imports an SDK before it is needed."""
