"""Each module is a benchmark: ``python -m benchmarks.NAME``. The last line printed is one JSON object.

Every figure that could hide behind a fast machine stands beside a rival or a floor measured in the same run.
"""
