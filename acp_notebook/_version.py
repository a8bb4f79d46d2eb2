"""The version: this line is its only place; the build reads it from here."""

__version__ = "0.1.0"
