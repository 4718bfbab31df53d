"""The handler chain's filters: one per file; the order is `server.chain`'s."""
