"""Widgets: each draws from plain values, none knows the engine."""
