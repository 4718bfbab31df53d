"""HTTP/1.1: heads, bodies and answers on one connection, one request at a time."""
