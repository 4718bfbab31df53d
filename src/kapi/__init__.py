"""kapi: the Kubernetes API server, in Python."""

__version__ = "0.1.0"
