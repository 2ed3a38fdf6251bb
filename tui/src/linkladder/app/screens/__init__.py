"""Screens are places: Home, Pair, Link, Ladder, Results, Runs, System, Log; linkladder.app.places leads to them."""
