# SPDX-License-Identifier: MIT
"""same_core.py A B: two cores of one program, run twice without address randomisation, in pid namespaces of their own.

Equal have to be their lengths, all headers, and every byte but those that the kernel made up for each run: 16 random bytes for the
process and what the C library keeps of them, times used, and what the clock gave. Prints how many bytes differ; exit 1: too many, or
one in the headers.
"""
import struct
import sys

a, b = (open(name, "rb").read() for name in sys.argv[1:3])
if len(a) != len(b):
    sys.exit("lengths: %d and %d" % (len(a), len(b)))
phoff, phnum = struct.unpack_from("<Q", a, 32)[0], struct.unpack_from("<H", a, 56)[0]
headers = phoff + 56 * phnum
if a[:headers] != b[:headers]:
    sys.exit("headers differ")
words = sum(1 for i in range(headers, len(a), 8) if a[i : i + 8] != b[i : i + 8])
print("%d bytes, %d words differ" % (len(a), words))
sys.exit(words > int(sys.argv[3]))
