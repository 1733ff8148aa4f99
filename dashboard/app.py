"""The entry point: navigation, the product's name, who you are, and the one place where a page's errors are shown."""
from __future__ import annotations

import streamlit as st

from core.errors import CountersignError
from core.machine import machine_error
from core.settings import SETTINGS
from dashboard import components, navigation, session

# a local icon: a page icon by name would be fetched from a font host
st.set_page_config(
    page_icon=str(components.STATIC / "favicon.svg"), layout="wide", initial_sidebar_state=SETTINGS["dashboard"]["sidebar_width"],
)
st.logo(str(components.STATIC / "logo.svg"), size="large", icon_image=str(components.STATIC / "favicon.svg"))
page = st.navigation(navigation.build(), expanded=True)
st.set_page_config(page_title=f"{page.title} · Countersign")
st.html(components.STATIC / "frame.css")
st.html(components.STATIC / "sheet.css")
with st.sidebar:
    session.identity_picker()
try:
    page.run()
except CountersignError as error:
    components.error_notice("page", error)
except OSError as problem:
    trouble = machine_error(problem)
    if trouble is None:
        raise
    components.error_notice("page", trouble)
