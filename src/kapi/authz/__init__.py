"""Authorization: may this user do that. A mode per file."""
