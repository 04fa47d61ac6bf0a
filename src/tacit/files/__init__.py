"""Files on disk: written whole or not at all, and closed to other users where they are private."""
