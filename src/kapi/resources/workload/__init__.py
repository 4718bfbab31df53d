"""What the kinds that run pods have in common: rules of their fields, selectors and columns. No resource lives here."""
