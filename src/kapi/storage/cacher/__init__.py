"""The watch cache: one per resource, filled by list and watch of the store, read by every get, list and watch."""
