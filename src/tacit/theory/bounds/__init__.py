"""Bounds of the papers with explicit constants, one module per paper, one function per statement.

Statements known only as rates are in ``tacit.theory.rates``; those about privacy are where the
price is computed, in ``tacit.privacy``. Where a printed constant is wrong the function says so and
returns the right one.
"""
