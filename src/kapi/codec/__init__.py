"""Bytes to objects and back: JSON, YAML, strict decoding."""
