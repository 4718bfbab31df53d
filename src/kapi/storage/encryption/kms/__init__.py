"""KMS plugins: data keys that are encrypted by a key which never leaves the plugin."""
