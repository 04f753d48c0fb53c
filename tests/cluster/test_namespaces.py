"""A network of the run's own: where the machine allows one, a cut in it is silence, and nothing of
it stays.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess

from tests.cluster.namespaces import NEEDED, why_not

VETH = ("unshare", "--net", "--mount", "--pid", "--fork", "ip", "link", "add", "type", "veth")


def test_a_cut_is_silence_and_nothing_of_it_is_seen_outside() -> None:
    before = socket.if_nameindex()
    allowed = os.geteuid() == 0 and all(map(shutil.which, NEEDED))
    allowed = allowed and subprocess.run(VETH, capture_output=True, check=False).returncode == 0
    why = why_not()
    assert (why is None) == allowed, why
    assert why != ""
    assert socket.if_nameindex() == before
