"""Budgets, events and their prices, noise, ledgers and audits."""
