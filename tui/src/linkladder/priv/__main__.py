"""python -I -m linkladder.priv CLASS VERB ARGUMENT..."""

import sys

from linkladder.priv.program import main

sys.exit(main())
