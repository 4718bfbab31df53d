"""From completed options to a running server: config, the server chain, run."""
