"""The core group: namespaces, pods, services, configuration."""
