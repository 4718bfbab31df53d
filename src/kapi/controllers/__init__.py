"""Controllers in process: a controller per file, over shared informers and the loopback client."""
