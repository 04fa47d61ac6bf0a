"""The checks behind ``check_mechanism``, one module per question they ask."""
