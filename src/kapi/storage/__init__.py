"""Revisions and bytes: the key-value protocol, its engines, objects on top, and the watch cache."""
