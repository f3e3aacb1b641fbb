"""What the kernel says: Xids, faults and harmless lines as data with typed readers, and their pure judging."""
