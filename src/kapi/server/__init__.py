"""The generic API server: handler chain, delegation, life cycle, health, hooks."""
