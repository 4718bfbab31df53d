"""The rbac.authorization.k8s.io group: roles, and who holds them."""
