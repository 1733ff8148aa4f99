"""Sign-off: put your name to a round, or refuse to, in two steps; then the receipt."""
from __future__ import annotations

from dashboard import frame, signing_room

signing_room.draw(frame.open_round("sign_off"))
