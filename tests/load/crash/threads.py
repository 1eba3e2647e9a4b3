# SPDX-License-Identifier: MIT
"""Read by gdb -batch -x, of a core: as frames.py, of all threads, "TID PC NAME" a line."""
import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1]):
    thread.switch()
    frame = gdb.newest_frame()
    while frame is not None and frame.is_valid():
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("frame %d %x %s" % (thread.ptid[1], frame.pc(), frame.name() or "?"))
        try:
            frame = frame.older()
        except gdb.error:
            break
