"""The parts of bench/run.py, by subject."""
