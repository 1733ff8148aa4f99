"""One thin script a page."""
