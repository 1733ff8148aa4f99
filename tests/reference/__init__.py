"""A second implementation of the engine's rules, used only as an oracle for the first.

Slow and plain on purpose: one row at a time, dicts, ``Fraction`` and ``decimal``, no numpy, no Arrow, no regular
expressions, and no import from ``core``. Written from the specification; where the two implementations differ, one of
them is wrong, and the specification says which.
"""
