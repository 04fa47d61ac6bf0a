"""Carrying work on shards to workers: processes of this machine, or a cluster."""
