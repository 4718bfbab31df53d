"""The authentication.k8s.io group: who somebody is."""
