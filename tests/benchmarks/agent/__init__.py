"""Agents against real jobs: how often they are right, how often they looked, and what it took."""
