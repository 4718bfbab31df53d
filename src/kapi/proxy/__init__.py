"""The way to other servers: node dialer, reverse proxy, upgraded streams."""
