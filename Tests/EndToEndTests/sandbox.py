#!/usr/bin/python3
"""Runs a command under the restrictions of a unit that do not need systemd (systemd.exec(5)).

usage: sandbox.py UNIT COMMAND...
Applied: SystemCallFilter=, RestrictAddressFamilies=, MemoryDenyWriteExecute=, RestrictNamespaces=, RestrictRealtime=,
LockPersonality=, NoNewPrivileges=, and no capabilities at all.
"""

import errno
import mmap
import os
import socket
import subprocess
import sys

import seccomp

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET (clone(2)).
NEW_NAMESPACES = 0x7E020000


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [line.strip().partition("=") for line in file]
    values = lambda key: [value for name, _, value in lines if name == key]
    for needed in ("MemoryDenyWriteExecute", "RestrictNamespaces", "RestrictRealtime", "LockPersonality"):
        if values(needed) != ["yes"]:
            sys.exit("the unit does not set %s=yes" % needed)
    allowed = allowed_calls(values("SystemCallFilter"))
    families = [getattr(socket, name) for name in values("RestrictAddressFamilies")[0].split()]
    restrict(allowed - {"unshare", "setns", "sched_setscheduler", "sched_setattr", "personality"}, families)
    os.execvp("setpriv", ["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"] + sys.argv[2:])


def allowed_calls(filters):
    """The calls of a list that begins with what is allowed and goes on with what is not."""
    calls = set()
    for text in filters:
        names = set().union(*(members(name) for name in text.lstrip("~").split()))
        calls = calls - names if text.startswith("~") else calls | names
    # systemd itself needs these until the program runs.
    return calls | members("@default") | {"execve", "capset", "prctl"}


def members(name):
    """The calls of a set, with those of the sets in it."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True).stdout
    names = [line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return set().union(*(members(entry) for entry in names))


def restrict(calls, families):
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for name in calls - {"socket", "mmap", "mprotect", "pkey_mprotect", "clone", "clone3"}:
        try:
            rules.add_rule(seccomp.ALLOW, name)
        except RuntimeError:
            pass  # not a call of this architecture
    for family in families:
        rules.add_rule(seccomp.ALLOW, "socket", seccomp.Arg(0, seccomp.EQ, family))
    writable_code = mmap.PROT_WRITE | mmap.PROT_EXEC
    for protection in (0, mmap.PROT_WRITE, mmap.PROT_EXEC):
        rules.add_rule(seccomp.ALLOW, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, writable_code, protection))
    # Flags of clone3(2) are in memory; without it, glibc takes clone(2).
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(seccomp.ALLOW, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, NEW_NAMESPACES, 0))
    rules.add_rule(seccomp.ALLOW, "mprotect", seccomp.Arg(2, seccomp.MASKED_EQ, mmap.PROT_EXEC, 0))
    rules.load()


main()
