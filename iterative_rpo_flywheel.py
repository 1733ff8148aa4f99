"""One-module entry: ``python -m iterative_rpo_flywheel --bundle BUNDLE.json``."""
