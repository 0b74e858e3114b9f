"""`python -m video2gui`."""

import sys

from video2gui.cli import main

sys.exit(main())
