"""The storage.k8s.io group: classes of storage, and the drivers, nodes and attachments behind them."""
