"""The admissionregistration.k8s.io group: who else is asked before something is stored, and by which rules."""
