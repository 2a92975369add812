"""Conditional risk in operation: tables, model files, scoring, reports, the service, monitoring."""
