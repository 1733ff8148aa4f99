"""The grid: the only home of numbers that steer a decision."""
from core.grid.document import DEDUP_KEYS, DEFAULT_GRID_PATH, KEYS, parse_decimal
from core.grid.grid import Grid, GridKey, default_grid, grid_from_document, load_grid, shipped_grids

__all__ = [
    "DEDUP_KEYS", "DEFAULT_GRID_PATH", "KEYS", "Grid", "GridKey", "default_grid", "grid_from_document", "load_grid", "parse_decimal", "shipped_grids",
]
