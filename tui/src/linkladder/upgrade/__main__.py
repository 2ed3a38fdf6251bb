"""python -I -m linkladder.upgrade FILE [downgrade], as root"""

import sys

from linkladder.upgrade.as_root import main

sys.exit(main(sys.argv[1:]))
