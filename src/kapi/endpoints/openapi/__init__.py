"""OpenAPI: documents made from the schema data on first use, told under a hash of their content."""
