"""Every built-in resource: a folder per group, one small file per resource."""
