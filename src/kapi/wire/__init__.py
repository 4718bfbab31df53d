"""Bytes to requests, responses to bytes: TLS, HTTP/1.1, HTTP/2. Knows no Kubernetes."""
