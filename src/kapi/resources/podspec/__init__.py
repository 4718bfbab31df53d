"""Pod specs: their defaults, validation and warnings, shared by every kind that embeds a pod template."""
