"""The Kube server: the built-in resources, and what runs as its post-start hooks."""
