"""The events.k8s.io group: events in their newer shape."""
