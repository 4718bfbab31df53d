"""The resource.k8s.io group: devices, where they are, and who may use them (dynamic resource allocation)."""
