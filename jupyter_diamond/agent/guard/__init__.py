"""What agents may do: proposals and approvals, standing budgets, the kill switch, foreign text."""
