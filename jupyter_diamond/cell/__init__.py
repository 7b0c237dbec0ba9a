"""From a cell's text to a sealed bundle, and from a finished attempt's files back to objects."""
