#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unpacks the payload of a packed RECORDS block: a second reader, written from dump/format/PACKED.md alone.

usage: unpack.py [-v] PAYLOAD [CONTENT]

Writes the records to CONTENT or to standard output; -v says on standard error which roles, kinds,
codings and flags were met, one a line. Exit: 0 fine, 1 cannot be read or written,
2 usage, 3 the payload is damaged. It is there to prove that this page is enough to write a reader
in another language; so it goes by its words and favours being plain over being fast. tests/program/read/it_golden.sh holds it against the reader in C.
"""

import struct
import sys

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF

PACK_NONE = 0xFFFF
MAX_CONTENT = 4194304
MAX_RECORDS = 32768
MAX_VARY = 24
MAX_WORDS = 131072
MAX_NODES = 32768
MAX_TEMPLATES = 65534
MAX_CLASSES = 256
THREADS = 4096
COLUMN_MAX_BITS = 12
COLUMN_SYMBOLS = 136

CONST, KEEP, VARY, DIRECT, TIME, TIME_HI, TID, PREV, SIZE, NR, IP, IP_HI = range(12)
COLUMN_CONST, COLUMN_FIXED, COLUMN_HUFFMAN = range(3)
PLAIN, DELTA, TABLE = range(3)
(RUNS, TEMPLATES, TID_RUNS, TIDS, CLASSES, BACK, GROWN, FRAME_RUNS, FRAMES, ADDRS, BULK,
 FIRST_CLASS) = range(12)
CLASS_TIMES, CLASS_MASKS, CLASS_CHAINS, CLASS_WORDS = range(4)
CHANGES = 1

ROLES = ("CONST", "KEEP", "VARY", "DIRECT", "TIME", "TIME_HI", "TID", "PREV", "SIZE", "NR", "IP",
         "IP_HI")
KINDS = ("CONST", "FIXED", "HUFFMAN")
CODINGS = ("PLAIN", "DELTA", "TABLE")

met = set()


class Damaged(Exception):
    """The payload is not what the format says."""


def need(true, what):
    if not true:
        raise Damaged(what)


class Bytes:
    """Bytes that are taken from the front."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, nr):
        need(0 <= nr <= len(self.data) - self.at, "it ends too early")
        self.at += nr
        return self.data[self.at - nr:self.at]

    def unpack(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))


class Bits:
    """Bits of a byte from the lowest on."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def peek(self, nr):
        """The next nr bits, zeros behind the end."""
        byte, shift = divmod(self.at, 8)
        some = self.data[byte:byte + (nr + shift + 7) // 8]
        return (int.from_bytes(some, "little") >> shift) & ((1 << nr) - 1)

    def skip(self, nr):
        self.at += nr
        need(self.at <= 8 * len(self.data), "a column is too short")

    def take(self, nr):
        number = self.peek(nr)
        self.skip(nr)
        return number


def huffman_codes(lengths):
    """What each run of COLUMN_MAX_BITS bits begins with: (symbol, its code's length)."""
    codes = {}
    code = 0
    for length in range(1, COLUMN_MAX_BITS + 1):
        for symbol, its_length in enumerate(lengths):
            if its_length != length:
                continue
            need(code < 1 << length, "too many codes")
            first = int(format(code, "0%db" % length)[::-1], 2)
            for rest in range(1 << (COLUMN_MAX_BITS - length)):
                codes[first | rest << length] = (symbol, length)
            code += 1
        code *= 2
    return codes


def huffman_numbers(bits, nr, nr_symbols):
    need(nr_symbols <= COLUMN_SYMBOLS, "too many symbols")
    lengths = [bits.take(4) for _ in range(nr_symbols)]
    bits.skip(-bits.at % 8)
    need(not lengths or max(lengths) <= COLUMN_MAX_BITS, "a code is too long")
    codes = huffman_codes(lengths)
    for _ in range(nr):
        code = bits.peek(COLUMN_MAX_BITS)
        need(code in codes, "no symbol has this code")
        symbol, length = codes[code]
        bits.skip(length)
        if symbol < 16:
            yield symbol
        else:
            more, half = divmod(symbol - 16, 2)
            yield ((2 + half) << (more + 3)) + bits.take(more + 3)


def column(data, nr):
    """The numbers of a column, of which there must be nr; any number of them when nr is None."""
    head = Bytes(data)
    nr_has, kind, nr_bits, nr_symbols, _ = head.unpack("<IBBBB")
    need(nr is None or nr_has == nr, "a column has another number of numbers")
    need(nr_has <= MAX_WORDS, "a column is too long")
    need(nr_bits <= 64, "a column has too many bits")
    need(kind <= COLUMN_HUFFMAN, "a column of an unknown kind")
    met.add("column %s%s" % (KINDS[kind], "" if nr_has else ", empty"))
    bits = Bits(data[head.at:])
    if kind == COLUMN_CONST:
        return [bits.take(nr_bits)] * nr_has
    if kind == COLUMN_FIXED:
        return [bits.take(nr_bits) for _ in range(nr_has)]
    return list(huffman_numbers(bits, nr_has, nr_symbols))


def column32(data, nr):
    """The same of numbers that must not have more than 32 bits."""
    numbers = column(data, nr)
    need(not numbers or max(numbers) <= MASK32, "a number has too many bits")
    return numbers


def signed(number):
    """0, -1, 1, -2, 2 from 0, 1, 2, 3, 4."""
    return -(number + 1) // 2 if number & 1 else number // 2


def steps(first, numbers, mask):
    """Numbers of which each is given as the difference to the one before."""
    for number in numbers:
        first = (first + number) & mask
        yield first


class Numbers:
    """Numbers that are taken one by one, all of them in the end."""

    def __init__(self, numbers, what):
        self.numbers = numbers
        self.at = 0
        self.what = what

    def next(self):
        need(self.at < len(self.numbers), "too few numbers: " + self.what)
        self.at += 1
        return self.numbers[self.at - 1]

    def end(self):
        need(self.at == len(self.numbers), "unused numbers: " + self.what)


class Words(Numbers):
    """A stream of words: numbers that may depend on the previous word."""

    def __init__(self, data, max_words, role):
        rest = Bytes(data)
        self.table = []
        self.coding, = rest.unpack("<B")
        need(self.coding <= TABLE, "words of an unknown coding")
        met.add("coding %s of %s" % (CODINGS[self.coding], role))
        if self.coding == TABLE:
            self.table = column32(rest.take(*rest.unpack("<I")), None)
            self.table += steps(0, column32(rest.take(*rest.unpack("<I")), None), MASK32)
            need(len(self.table) <= max_words, "a table is too long")
        super().__init__(column32(data[rest.at:], None), role)

    def next_word(self, before):
        number = self.next()
        if self.coding == DELTA:
            return (before + signed(number)) & MASK32
        if self.coding == TABLE:
            need(number < len(self.table), "a word is not in the table")
            return self.table[number]
        return number


class Guesses:
    """A sequence that is mostly as predicted: how often it was, and what came instead."""

    def __init__(self, runs, instead, what):
        self.runs = Numbers(runs, what)
        self.instead = instead
        self.next_run()

    def next_run(self):
        """Behind the last run, predictions are right to the end."""
        left = self.runs.at < len(self.runs.numbers)
        self.left = self.runs.next() if left else None

    def next(self, predicted):
        """The next one; `predicted` is None where nothing can be predicted."""
        if self.left == 0:
            self.next_run()
            return self.instead()
        need(predicted is not None, "a prediction without a basis counts as correct")
        if self.left:
            self.left -= 1
        return predicted

    def end(self):
        need(self.left is None, "more came instead than there are")


class Class:
    """A class of records: where its words come from."""

    def __init__(self, head):
        (self.nr_records, self.words, self.chain_at, self.bulk_at, self.bulk_words,
         self.flags) = head.unpack("<IHHHHI")
        self.has_chain = self.chain_at != PACK_NONE
        self.has_bulk = self.bulk_at != PACK_NONE
        need(self.words >= 2 and self.words % 2 == 0, "a class without a header")
        need(not self.has_chain or 2 <= self.chain_at <= self.words and self.chain_at % 2 == 0,
             "a chain at a wrong place")
        need(not self.has_bulk or self.bulk_at <= self.words and self.bulk_at % 2 == 0,
             "bulk at a wrong place")
        need(not (self.has_chain and self.has_bulk) or self.bulk_at >= self.chain_at,
             "bulk before the chain")
        need(self.bulk_words % 2 == 0, "an odd number of bulk words")

    def read_roles(self, head):
        self.roles = list(head.take(self.words))
        need(max(self.roles) <= IP_HI, "a word with an unknown role")
        need(self.roles.count(VARY) <= MAX_VARY, "too many words that vary")
        need(self.has_chain or not {SIZE, NR, IP} & set(self.roles), "a role without a chain")
        met.update("role " + ROLES[role] for role in self.roles)
        met.update(["flag CHANGES"] if self.flags & CHANGES else [])
        met.update(["bulk"] if self.has_bulk else [])
        self.chain_bit = 1 << self.roles.count(VARY)

    def read_consts(self, head):
        self.consts = [head.unpack("<I")[0] if role in (CONST, SIZE) else 0
                       for role in self.roles]

    def read_streams(self, streams, templates):
        """`templates` are the numbers of the templates of this class, ascending."""
        nr = self.nr_records
        self.times = Numbers(column(next(streams), nr if TIME in self.roles else 0), "TIMES")
        self.masks = Numbers(column32(next(streams), nr), "MASKS")
        nr_chains = sum(1 for mask in self.masks.numbers if mask & self.chain_bit)
        self.chains = Numbers(column32(next(streams), nr_chains if self.has_chain else 0),
                              "CHAINS")
        self.streams = [Words(next(streams), len(templates) if role == KEEP else nr, ROLES[role])
                        if role in (KEEP, VARY, DIRECT) else None for role in self.roles]
        self.before = {template: [0] * self.words for template in templates}
        kept = [0] * self.words
        for template in templates:
            for i, role in enumerate(self.roles):
                if role == KEEP:
                    kept[i] = self.streams[i].next_word(kept[i])
                    self.before[template][i] = kept[i]

    def end(self):
        """All records were made."""
        for numbers in [self.times, self.masks, self.chains] + self.streams:
            if numbers:
                numbers.end()


class Tree:
    """The call chains of a payload: paths from a node to the root."""

    def __init__(self, streams, nr_chains, nr_shared, nr_addrs):
        back = column32(streams[BACK], nr_chains)
        grown = column32(streams[GROWN], nr_chains)
        addrs = list(steps(0, column(streams[ADDRS], nr_addrs), MASK64))
        runs = column32(streams[FRAME_RUNS], None)
        frames = Numbers(column32(streams[FRAMES], len(runs)), "FRAMES")
        guesses = Guesses(runs, frames.next, "FRAME_RUNS")
        need(len(set(addrs)) == len(addrs), "addresses are the same")
        need(sum(grown) <= MAX_NODES, "too many nodes")
        self.parents = [None]
        self.addrs = [None]
        self.ends = []
        below = {}
        for its_back, its_grown in zip(back, grown):
            node = len(self.parents) - 1 - its_back
            need(node >= 0, "a chain that branches off nowhere")
            for _ in range(its_grown):
                key = self.addrs[node]
                guess = guesses.next(below.get(key))
                need(guess < len(addrs), "no such address")
                below[key] = guess
                self.parents.append(node)
                self.addrs.append(addrs[guess])
                node = len(self.parents) - 1
            self.ends.append(node)
        guesses.end()
        self.nr_shared = nr_shared
        self.nr_met = nr_shared

    def next_end(self, number):
        """The last node of the chain that a number of CHAINS tells."""
        met.add("chain, shared" if number else "chain, not shared")
        if number == 0:
            number = self.nr_met = self.nr_met + 1
        else:
            need(number <= self.nr_shared, "this chain is not shared")
        need(number <= len(self.ends), "no such chain")
        return self.ends[number - 1]

    def chain(self, node):
        addrs = []
        while node:
            addrs.append(self.addrs[node])
            node = self.parents[node]
        return addrs


class Payload:
    """All that is in a payload."""

    def __init__(self, data):
        head = Bytes(data)
        (self.nr_records, self.content_bytes, self.time, self.tid, nr_classes, self.nr_templates,
         nr_chains, nr_shared, nr_addrs, nr_streams, self.tail_bytes) = head.unpack("<IIQIIIIIIII")
        need(self.nr_records <= MAX_RECORDS, "too many records")
        need(self.content_bytes <= MAX_CONTENT, "too many bytes")
        need(1 <= nr_classes <= MAX_CLASSES, "too many classes")
        need(self.nr_templates <= MAX_TEMPLATES, "too many templates")
        need(nr_chains <= self.nr_records and nr_shared <= nr_chains, "too many chains")
        need(nr_addrs <= MAX_NODES, "too many addresses")
        self.classes = [None] + [Class(head) for _ in range(nr_classes - 1)]
        for each in self.classes[1:]:
            each.read_roles(head)
        for each in self.classes[1:]:
            each.read_consts(head)
        lengths = head.unpack("<%dI" % nr_streams)
        streams = [head.take(length) for length in lengths]
        need(head.at == len(data), "there are bytes behind the streams")
        self.read_streams(streams, nr_chains, nr_shared, nr_addrs)

    def read_streams(self, streams, nr_chains, nr_shared, nr_addrs):
        nr_words = sum(1 for each in self.classes[1:] for role in each.roles
                       if role in (KEEP, VARY, DIRECT))
        need(len(streams) == FIRST_CLASS + CLASS_WORDS * (len(self.classes) - 1) + nr_words,
             "another number of streams")
        runs = column32(streams[RUNS], None)
        templates = Numbers(column32(streams[TEMPLATES], len(runs)), "TEMPLATES")
        self.templates = Guesses(runs, templates.next, "RUNS")
        tids = Words(streams[TIDS], self.nr_records, "TIDS")
        self.tids = Guesses(column32(streams[TID_RUNS], len(tids.numbers)),
                            lambda: tids.next_word(0), "TID_RUNS")
        self.class_of = [0] + column32(streams[CLASSES], self.nr_templates)
        need(all(0 < nr < len(self.classes) for nr in self.class_of[1:]), "a template of no class")
        self.tree = Tree(streams, nr_chains, nr_shared, nr_addrs)
        self.bulk = Bytes(streams[BULK])
        of_classes = iter(streams[FIRST_CLASS:])
        nr_words = 0
        for nr, each in enumerate(self.classes[1:], 1):
            templates = [t for t, its in enumerate(self.class_of) if its == nr]
            nr_words += len(templates) * each.words
            need(nr_words <= MAX_WORDS, "too many words in templates")
            each.read_streams(of_classes, templates)
        # Chains that are not shared are met class by class, not record by record.
        for each in self.classes[1:]:
            each.chains.numbers = [self.tree.next_end(number) for number in each.chains.numbers]

    def records(self):
        """The records, newest first, and what is behind them."""
        last = 0
        after = {}
        after_tid = {}
        ends = {}
        for _ in range(self.nr_records):
            template = self.templates.next(after.get(last, 0))
            after[last] = last = template
            need(template <= self.nr_templates, "no such template")
            its = self.classes[self.class_of[template]]
            yield self.record(its, template, after_tid, ends) if its else self.kept()
        met.update(["tail"] if self.tail_bytes else [])
        yield self.bulk.take(self.tail_bytes)
        for each in [self.templates, self.tids] + self.classes[1:]:
            each.end()

    def kept(self):
        """A record of class 0, which is all in BULK."""
        met.add("class 0")
        head = self.bulk.take(8)
        size, = struct.unpack_from("<H", head, 6)
        need(size >= 8 and size % 8 == 0, "a record that is none")
        return head + self.bulk.take(size - 8)

    def record(self, its, template, after_tid, ends):
        """The next record, which is of class `its`."""
        prev = self.tid
        if TID in its.roles:
            self.tid = self.tids.next(after_tid.get(prev % THREADS, 0)
                                      if its.flags & CHANGES else prev)
            if its.flags & CHANGES:
                after_tid[prev % THREADS] = self.tid
        if TIME in its.roles:
            self.time = (self.time - its.times.next()) & MASK64
        mask = its.masks.next()
        if its.has_chain and mask & its.chain_bit:
            ends[template] = its.chains.next()
        need(template in ends or not its.has_chain, "the first of a template has no chain")
        chain = self.tree.chain(ends.get(template, 0))
        words = self.words(its, template, mask, chain, prev)
        chain_at = its.chain_at if its.has_chain else 0
        bulk_at = its.bulk_at if its.has_bulk else its.words
        chain = struct.pack("<%dQ" % len(chain), *chain) if its.has_chain else b""
        bulk = self.bulk.take(4 * its.bulk_words) if its.has_bulk else b""
        words = struct.pack("<%dI" % its.words, *words)
        return (words[:4 * chain_at] + chain + words[4 * chain_at:4 * bulk_at] + bulk
                + words[4 * bulk_at:])

    def words(self, its, template, mask, chain, prev):
        """The record's words."""
        words = its.before[template]
        bit = 1
        for i, role in enumerate(its.roles):
            if role == VARY:
                if mask & bit:
                    words[i] = its.streams[i].next_word(words[i])
                bit <<= 1
            elif role == DIRECT:
                words[i] = its.streams[i].next_word(words[i])
            elif role == CONST:
                words[i] = its.consts[i]
            elif role == SIZE:
                words[i] = (its.consts[i] + (8 * len(chain) << 16)) & MASK32
            elif role != KEEP:
                words[i] = self.shared_word(role, chain, prev)
        return words

    def shared_word(self, role, chain, prev):
        """A word that says what is known of the record anyhow."""
        if role in (IP, IP_HI):
            need(len(chain) >= 2, "a chain is too short")
        return {TIME: lambda: self.time & MASK32, TIME_HI: lambda: self.time >> 32,
                TID: lambda: self.tid, PREV: lambda: prev, NR: lambda: len(chain),
                IP: lambda: chain[1] & MASK32, IP_HI: lambda: chain[1] >> 32}[role]()


def unpack(data):
    """The content of a payload."""
    payload = Payload(data)
    content = bytearray()
    for record in payload.records():
        content += record
        need(len(content) <= payload.content_bytes, "it unpacks to more bytes than it says")
    need(len(content) == payload.content_bytes, "it unpacks to fewer bytes than it says")
    need(payload.bulk.at == len(payload.bulk.data), "not all bulk was used")
    return content


def main(args):
    verbose = args[1:2] == ["-v"]
    args = args[2 if verbose else 1:]
    if len(args) not in (1, 2):
        sys.stderr.write("usage: unpack.py [-v] PAYLOAD [CONTENT]\n")
        return 2
    try:
        with open(args[0], "rb") as file:
            content = unpack(file.read())
        if len(args) == 1:
            sys.stdout.buffer.write(content)
        else:
            with open(args[1], "wb") as file:
                file.write(content)
    except Damaged as why:
        sys.stderr.write("%s: %s\n" % (args[0], why))
        return 3
    except OSError as why:
        sys.stderr.write("%s\n" % why)
        return 1
    if verbose:
        sys.stderr.write("".join(what + "\n" for what in sorted(met)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
