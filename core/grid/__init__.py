"""The grid: the only home of numbers that steer a decision."""
from core.grid.grid import DEDUP_KEYS, KEYS, Grid, GridKey, default_grid, grid_from_document, load_grid, parse_decimal

__all__ = ["DEDUP_KEYS", "KEYS", "Grid", "GridKey", "default_grid", "grid_from_document", "load_grid", "parse_decimal"]
