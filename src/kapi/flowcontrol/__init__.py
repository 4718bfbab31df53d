"""Priority and fairness: which request runs now, which waits, which is turned away."""
