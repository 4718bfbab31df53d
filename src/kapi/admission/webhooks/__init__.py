"""Admission webhooks at work.

`registered` follows the configurations, `review` asks one webhook and judges its answer, `patches` makes of a patch
what the store works on. The two plugins decide who is asked when.
"""
