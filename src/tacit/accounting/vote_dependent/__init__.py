"""Costs that depend on the votes, and what it takes to release them."""
