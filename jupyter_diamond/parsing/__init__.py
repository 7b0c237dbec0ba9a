"""Pure text to values: durations, memory, GRES, node lists, job ids, states."""
