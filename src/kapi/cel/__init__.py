"""CEL, the expression language, with Kubernetes' types and costs.

An expression goes through lexer, parser (which expands macros), checker and validators, and is planned into closures
once. `environment` has Environment and Program; `kubernetes` the libraries that every expression may use. Callers bring
their types as declarations (`declarations`, or `schemas` from a structural schema). `rules` judges the rules of one
schema node, `custom_resources` those of a whole schema, `policies` is the environment of admission policies.
"""
