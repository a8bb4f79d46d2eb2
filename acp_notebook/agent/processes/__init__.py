"""Processes: started, read and written without blocking, watched, and ended with all their relatives.

Knows neither the protocol nor sessions.
"""
