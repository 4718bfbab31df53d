"""The aggregator: API services, and the way from a group-version to the server behind it."""
