"""What the benchmarks share: engines, workload, observers, and how figures are computed and shown."""
