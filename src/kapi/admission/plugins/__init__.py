"""The admission plugins, one per file."""
