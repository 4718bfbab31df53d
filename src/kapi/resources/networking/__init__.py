"""networking.k8s.io: how traffic comes in, what it may reach, and the addresses of services."""
