"""Audit: what was asked, by whom, and what became of it."""
