"""The two commands: `kube-apiserver`, the drop-in, and `kapi`, for people."""
