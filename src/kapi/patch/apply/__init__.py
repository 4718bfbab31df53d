"""Server-side apply: who manages which fields, and what an applied configuration does to an object.

A set of fields is held as the API shows it (`fieldsV1`): nested objects whose keys are path elements. Sets are never
mutated, so parts of them are shared freely, between each other and with the objects they were read from.
"""
