"""Admission policies at work: which of them a request meets, with which parameters, and what they say to it.

`source` follows the policies and their bindings, `params` finds parameters, `meeting` brings a request and policies
together, `validator` and `mutator` evaluate. The last two load CEL: they are imported when a request meets a policy.
"""
