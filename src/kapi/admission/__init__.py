"""Admission: plugins that change or refuse a write before it is stored."""
