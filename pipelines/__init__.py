"""Batch jobs: Apache Beam around the functions of `video2gui`; no mining logic here."""

import logging

# Beam says on import, at every start and to everybody, that BigQuery's client is not installed
logging.getLogger().addFilter(lambda record: "apitools not found" not in record.getMessage())
