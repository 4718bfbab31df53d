"""HTTP/2, the server's half: frames, header compression, streams, flow control in both directions.

`frames` and `hpack` know bytes, `fields` what a request may look like, `flow` what we may receive, `outbox` what we
may send, `stream` one request and its answer; `connection` ties them to the transport.
"""
