"""The vocabulary every layer shares: errors, names, selectors, the state of one request. Pure: no I/O."""
