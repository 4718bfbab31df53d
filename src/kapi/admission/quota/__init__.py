"""Quotas: what objects use up, what a namespace's quotas allow, and how use is charged."""
