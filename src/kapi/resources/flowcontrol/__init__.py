"""The flowcontrol.apiserver.k8s.io group: which requests belong together, and what share of the server they get."""
