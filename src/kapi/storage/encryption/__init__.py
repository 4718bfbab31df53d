"""Encryption at rest: what stands between the engine's bytes and the objects, as `EncryptionConfiguration` says.

Values have kube-apiserver's formats: what one of the two has written, the other reads. Nothing here is imported unless
`--encryption-provider-config` is given.
"""
