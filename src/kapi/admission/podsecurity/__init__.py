"""The Pod Security Standards: what pods may ask of their nodes, by level and version."""
