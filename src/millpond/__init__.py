"""Millpond: a streaming SQL database on Apache Spark."""

__version__ = "0.1.0"
