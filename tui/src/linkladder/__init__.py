"""linkladder: qualify a network link, rung by rung."""

__version__ = "0.1.0"
