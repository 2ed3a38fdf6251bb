"""Holds the screens: Home, Pair, Link, Ladder, Results, Runs, System and others; linkladder.app.places opens them."""
