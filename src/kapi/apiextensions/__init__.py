"""The API-extensions server: custom resource definitions and the resources they define."""
