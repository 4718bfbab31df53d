"""The storagemigration.k8s.io group: objects rewritten in the version they are stored in now."""
