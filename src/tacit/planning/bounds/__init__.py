"""Bounds of the papers with explicit constants, one module per paper, one function per statement.

Statements known only as rates are in ``tacit.planning.rates``; those about privacy are where the
price is computed, in ``tacit.accounting``. Where a printed constant is wrong the function says so
and returns the right one.
"""
