"""What can be said before any private data is touched."""
