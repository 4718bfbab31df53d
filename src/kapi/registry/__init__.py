"""The life cycle of an object: strategies, stores, deletion, subresources, tables."""
