"""The scheduling.k8s.io group: what goes first."""
