"""Shards in files, for records that do not fit in memory.

``write_shards`` sends every record of some Parquet or CSV files to one of K Parquet files, by a
keyed hash of its identifier; ``open_shards`` reads them one at a time; ``verify_shards`` checks
what was written. A folder of shards is private, and only its owner can read it.
"""

from tacit.data.shards.folder import ShardFolder, open_shards
from tacit.data.shards.header import Sharding
from tacit.data.shards.verify import verify_shards
from tacit.data.shards.write import write_shards

__all__ = ["ShardFolder", "Sharding", "open_shards", "verify_shards", "write_shards"]
