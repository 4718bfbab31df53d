"""Metrics, log and trace."""
