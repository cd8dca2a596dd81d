"""`python -m support.stub_driver apply|destroy`: one verb on the stub cloud, in a process that can be killed.

`terraform` on PATH may be `terraform_at.sh`, which stops at a step that a test names.
"""

from __future__ import annotations

import os
import sys

from support import rigs
from support.stub_rigs import ENVIRONMENT, candidate, order
from trainrig.errors import DestroyIncomplete, RigError
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.context import Context, opened
from trainrig.lifecycle.destroy import destroy


def wait_less_for_locks(seconds: int) -> None:
    real = Context.terraform
    Context.terraform = lambda *words, **_: real(*words, lock_timeout_seconds=seconds)  # type: ignore[method-assign]


def main(verb: str) -> int:
    if "STUB_LOCK_SECONDS" in os.environ:
        wait_less_for_locks(int(os.environ["STUB_LOCK_SECONDS"]))
    run_id = os.environ.get("STUB_RUN_ID", rigs.identity().run_id)
    identity = rigs.identity(name=os.environ.get("STUB_RUN_ID", rigs.identity().name), run_id=run_id)
    try:
        with opened(ENVIRONMENT) as context:
            if verb == "apply":
                apply(context, order([candidate("z-a"), candidate("z-b")], identity=identity))
            else:
                proof = destroy(context, context.journal.rig(run_id))
                return 0 if proof.clean else DestroyIncomplete.exit_code
    except RigError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
