"""The batch group: jobs, and schedules that make them."""
