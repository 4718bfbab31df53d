"""The authorization.k8s.io group: what somebody may do."""
