"""Patches: JSON patch, merge patch, strategic merge, apply.

Pure functions over plain objects. Each returns a new object that shares nothing with what it was given: the caller goes
on to default and mutate the result, while the live object and the patch (needed again on a retry) stay whole.
Failures are the classes of `errors`, which know the HTTP status that the endpoint answers with.
"""
