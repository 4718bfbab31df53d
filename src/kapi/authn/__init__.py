"""Authentication: who sent this request. A mechanism per file, tried in one order."""
