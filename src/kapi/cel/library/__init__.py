"""The function libraries of Kubernetes' environment, one per file; each makes a Library when it is asked for."""
