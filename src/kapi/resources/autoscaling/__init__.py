"""The autoscaling group: autoscalers, and the scale of other resources."""
