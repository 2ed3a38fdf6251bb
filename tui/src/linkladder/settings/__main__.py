"""python -m linkladder.settings FOLDER SECONDS: the undo process of a lease."""

import sys
from pathlib import Path

from linkladder.settings.undo import main

sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
