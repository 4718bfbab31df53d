"""What the embedded engines share, so that their semantics cannot drift: index, commit, watches, leases, compaction.

`engine.Embedded` decides everything on the event loop; a `log.Log` only keeps records (in memory, in SQLite).
"""
