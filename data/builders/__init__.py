"""Builders of the demo rounds: published files in, input folders out (what a proposer would hand to ``countersign ingest``)."""
