"""An owner of an engine that can be killed: its arguments are a deployer's factory and a folder."""

import sys
from pathlib import Path

from orchestrator.deploy.conformance.deployer import own

own(sys.argv[1], Path(sys.argv[2]))
