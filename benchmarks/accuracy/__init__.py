"""Accuracy at equal epsilon: tacit's routes and their peers, on the same splits of the same data.

``python -m benchmarks.accuracy.run`` makes rows, ``.choose`` picks settings from development
splits, ``.table`` writes the tables of ``docs/results/peers.md``.
"""
