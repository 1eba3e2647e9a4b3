# SPDX-License-Identifier: MIT
"""Read by gdb -batch -x, of a core: one line a frame of the thread that crashed, "PC NAME".

Left out are functions that were inlined, which have no frame, and those that gdb concludes to have been in between because the
callee was jumped to: of them nothing is left on the stack.
"""
import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
frame = gdb.newest_frame()
while frame is not None and frame.is_valid():
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        print("frame %x %s" % (frame.pc(), frame.name() or "?"))
    try:
        frame = frame.older()
    except gdb.error:
        break
