"""Measurements in the forms of other benchmark tools, and their results read back. Opens no file, sends nothing."""
