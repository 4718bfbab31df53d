"""CEL, the expression language, with Kubernetes' types and costs."""
