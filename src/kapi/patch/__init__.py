"""Patches: JSON patch, merge patch, strategic merge, apply. Pure functions over objects."""
