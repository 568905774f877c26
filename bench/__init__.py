"""Benchmarks: what Headway does, as ratios against floors measured in the same run."""
