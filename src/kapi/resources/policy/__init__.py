"""The policy group: disruption budgets."""
