"""The scripts here are run by the tests, in interpreters of their own; they hold no tests."""

collect_ignore = ["fit_kills.py", "journalled_client.py", "ledger_faults.py", "service_faults.py"]
