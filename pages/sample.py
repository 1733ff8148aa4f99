"""Sample: would a human choose as the engine did? A random sample of admitted pairs, judged blind, and what it proves."""
from __future__ import annotations

from dashboard import frame, sample_actions, sample_desk

bare = sample_actions.is_judging()
sample_desk.draw(frame.open_round("sample", bare=bare), bare=bare)
