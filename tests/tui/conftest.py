"""Screens are tested at the console's size and at a roomy one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from linkladder.app import terminal

os.environ.pop("NO_COLOR", None)
terminal.prepare(os.environ, terminal.survey({"TERM": "xterm", "LANG": "C.UTF-8"}))  # before textual is imported
