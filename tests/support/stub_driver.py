"""`python -m support.stub_driver apply|destroy`: one verb on the stub cloud, in a process that can be killed.

`terraform` on PATH may be `terraform_at.sh`, which stops at a step that a test names.
"""

from __future__ import annotations

import os
import sys

from support import rigs
from support.stub_rigs import ENVIRONMENT, candidate, order
from trainrig.errors import RigError
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import opened
from trainrig.lifecycle.destroy import destroy


def main(verb: str) -> int:
    run_id = os.environ.get("STUB_RUN_ID", rigs.identity().run_id)
    identity = rigs.identity(name=os.environ.get("STUB_RUN_ID", rigs.identity().name), run_id=run_id)
    try:
        with opened(ENVIRONMENT) as context:
            if verb == "apply":
                apply(context, order([candidate("z-a"), candidate("z-b")], identity=identity))
            else:
                destroy(context, context.journal.rig(run_id))
    except RigError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
