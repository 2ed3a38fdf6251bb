import sys

from linkladder.cli import main

sys.exit(main())
