"""A rung between two machines with two test cards each, as a plan describes it."""

PATHS = """
[[path.dc-link]]
local = "10.77.1.1"
remote = "10.77.1.2"
peer = "beta"
interface = "vmx1"
[[path.dc-link]]
local = "10.77.2.1"
remote = "10.77.2.2"
peer = "beta"
interface = "vmx2"
"""
