"""HTTP meaning: what each verb on a resource path does, and how answers are written."""
