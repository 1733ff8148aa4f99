"""Streamlit glue: application, navigation, session, loaders, charts, components. Imports core only."""
