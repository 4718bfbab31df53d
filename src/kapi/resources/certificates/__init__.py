"""The certificates.k8s.io group: who asks for which certificate, who may have it, and whom to trust."""
