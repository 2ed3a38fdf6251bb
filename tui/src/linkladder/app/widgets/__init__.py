"""Holds the widgets; each draws plain values, and none imports the engine."""
