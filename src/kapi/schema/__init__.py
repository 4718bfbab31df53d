"""What an object may look like: facts per group-version, compiled on first use."""
