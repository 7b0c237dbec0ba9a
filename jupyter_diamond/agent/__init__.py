"""What agents see and may do: typed tools, drafting, approvals, the chat."""
