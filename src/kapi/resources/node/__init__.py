"""The node.k8s.io group: how nodes run pods."""
