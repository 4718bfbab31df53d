"""The apps group: workloads."""
