"""What follows a failed attempt: its cause, the step that the task's budget allows, and the act."""
