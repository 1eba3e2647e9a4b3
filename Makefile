# SPDX-License-Identifier: MIT
#
# ringback: everything is built into $(O), nothing in the source tree changes.
#
#	make                  the program: build/ringback
#	make demo             install what is missing, record a load, fire a trigger, print what happened
#	make check            install what tests need, build, run every test
#	make help             the rest
#
# Variables: O=DIR  CC=clang  SAN=address,undefined  WERROR=1  V=1  PREFIX=/usr/local  DESTDIR=
#            FUZZ_SECONDS=600  BENCH=NAME

O	?= build
CC	= gcc
PREFIX	?= /usr/local
VERSION	:= 0.1.0

CPPFLAGS := -I. -I$(O)/proto -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DRINGBACK_VERSION='"$(VERSION)"'
CFLAGS	?= -O2 -g
CFLAGS	+= -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	   -Wno-unused-parameter -fno-strict-aliasing -fno-common -pthread
LDFLAGS	+= -pthread
ifdef WERROR
CFLAGS	+= -Werror
endif
ifdef SAN
# Of debug information only what a report names; tests of such information have their own.
CFLAGS	+= -g1 -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS	+= -fsanitize=$(SAN)
endif
ifndef V
Q := @
endif

# A library per layer, in the order of the data (data order is include order). Each links with
# those to its right only; tests/lint_layers.sh and the unit tests' LAYERS hold that.
LAYERS	 := recorder trigger kernel view dump base
base_SRC := $(wildcard dump/base/*.c)
dump_SRC := $(wildcard dump/*.c)
view_SRC := $(wildcard dump/view/*.c)
kernel_SRC := $(wildcard trigger/kernel/*.c)
trigger_SRC  := $(filter-out trigger/crash_lib%,$(wildcard trigger/*.c))
recorder_SRC := $(filter-out recorder/main.c,$(wildcard recorder/*.c))
# Messages of other tools' formats, from our own descriptions of them.
PROTO	 := $(patsubst dump/view/%.proto,$(O)/proto/%.pb-c,$(wildcard dump/view/*.proto))
LIBS	 := -lelf -ldw -llzma -llz4 -lxxhash -linih -ljansson -lz -lprotobuf-c -liberty -lunwind-x86_64 -lipt -lm
TEST_LIBS := -lcmocka -ltraceevent

obj	 = $(patsubst %.c,$(O)/%.o,$(1))
lib	 = $(O)/lib$(1).a
libs	 = $(foreach l,$(1),$(call lib,$(l)))

# Unit tests: tests/t_NAME.c; a first line "/* LAYERS: dump base */" says what it links with (default:
# all); the SPDX line follows it. Programs that tests run as loads: tests/load_NAME.c, linked with nothing.
UNITS	 := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/t_*.c))
LOADS	 := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/load_*.c))
TOOLS	 := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/tool_*.c))
FUZZERS	 := $(patsubst tests/%.c,$(O)/fuzz/%,$(wildcard tests/fuzz_*.c))

all: $(O)/ringback $(O)/libringback-crash.so ## build the program, and the library for others

$(O)/ringback: $(O)/recorder/main.o $(call libs,$(LAYERS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# What other programs load: it shows nothing but what it stands in for, and never goes away again. No
# sanitizer fits a library that is loaded before its program.
crash_OBJ := $(patsubst %.c,$(O)/pic/%.o,$(wildcard trigger/crash_lib*.c) trigger/kernel/regs.c)
PIC_CFLAGS = $(filter-out -fsanitize=% -fno-sanitize-recover=%,$(CFLAGS)) -fPIC -fvisibility=hidden
$(O)/libringback-crash.so: $(crash_OBJ)
	@echo "  LINK    $@"
	$(Q)$(CC) $(PIC_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete,-z,now,-z,defs -o $@ $^
$(O)/pic/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(PIC_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/proto/%.pb-c.c $(O)/proto/%.pb-c.h &: dump/view/%.proto
	@mkdir -p $(@D)
	@echo "  PROTO   $<"
	$(Q)protoc-c --proto_path=dump/view --c_out=$(O)/proto $<
$(O)/proto/%.o: $(O)/proto/%.c
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -w -c -o $@ $<
$(call obj,$(view_SRC)): | $(PROTO:=.h)
$(call lib,view): $(PROTO:=.o)

define layer_rule
$(call lib,$(1)): $(call obj,$($(1)_SRC))
	@echo "  AR      $$@"
	$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))

# Objects are built anew when the flags change.
$(O)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' >$@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The files that html.c takes into itself.
$(O)/dump/view/html.o $(O)/fuzz/dump/view/html.o: $(wildcard dump/view/page/*)

layers_of = $(or $(shell sed -n '1s,^/\* LAYERS: \(.*\) \*/$$,\1,p' $(1)),$(LAYERS))
.SECONDEXPANSION:
$(O)/tests/t_%: $(O)/tests/t_%.o $$(call libs,$$(call layers_of,tests/t_$$*.c))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(TEST_LIBS)
$(O)/tests/tool_%: $(O)/tests/tool_%.o $$(call libs,$$(call layers_of,tests/tool_$$*.c))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(O)/tests/t_%.o $(O)/tests/load_%: private CFLAGS += -g
$(O)/tests/load_%: tests/load_%.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) -MMD -MP -MT $@ -MF $@.d -o $@ $<

# Fuzz targets have their own objects: clang, libFuzzer, sanitizers. What libFuzzer wants to know makes code half as fast as
# the sanitizers alone do, hence they are not those of $(O)/san.
FUZZ_CC	 := clang -std=gnu11 -g1 -O1 -fno-strict-aliasing -fno-sanitize-recover=undefined
fuzz_OBJ := $(patsubst %.c,$(O)/fuzz/%.o,$(base_SRC) $(dump_SRC) $(view_SRC)) \
	    $(patsubst $(O)/proto/%,$(O)/fuzz/proto/%.o,$(PROTO))
$(O)/fuzz/%.o: %.c $(O)/flags | $(PROTO:=.h)
	@mkdir -p $(@D)
	@echo "  FUZZCC  $<"
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<
$(O)/fuzz/proto/%.o: $(O)/proto/%.c
	@mkdir -p $(@D)
	@echo "  FUZZCC  $<"
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -w -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
$(O)/fuzz/fuzz_%: $(O)/fuzz/tests/fuzz_%.o $(fuzz_OBJ)
	@echo "  FUZZ    $@"
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

tests-build: all $(UNITS) $(LOADS) $(TOOLS)
fuzz-build: $(FUZZERS) $(O)/tests/tool_seed $(O)/tests/tool_golden
san-build: ## the program and its tests with the sanitizers, by clang, in $(O)/san
	$(Q)$(MAKE) --no-print-directory O=$(O)/san CC=clang SAN=address,undefined tests-build

# The packages are there before anything is compiled, also with -j; so the rest is a make of its own.
deps: ## install the packages that are missing (Debian, root); without them: say which
	$(Q)tests/deps.sh

demo: ## record a load on this machine, fire a trigger, look at the dump
	$(Q)tests/deps.sh build
	$(Q)$(MAKE) --no-print-directory all
	$(Q)examples/demo.sh $(O)/ringback

check: ## every test, linter and sanitizer; the last line counts them
	$(Q)tests/deps.sh check
	$(Q)tests/run.sh $(O)

bench: ## measure cost and speed; BENCH=NAME: only tests/bench/NAME.sh
	$(Q)tests/deps.sh
	$(Q)$(MAKE) --no-print-directory tests-build
	$(Q)tests/bench.sh $(O) $(BENCH)

FUZZ_SECONDS ?= 600
fuzz: ## run the fuzz targets, FUZZ_SECONDS=600 each
	$(Q)tests/deps.sh check
	$(Q)$(MAKE) --no-print-directory fuzz-build
	$(Q)tests/fuzz.sh $(O) $(FUZZ_SECONDS)

format: ## apply .clang-format
	clang-format -i $(shell find recorder trigger dump tests examples -name '*.[ch]')

# What install puts where; uninstall removes exactly these.
BINDIR	 := $(PREFIX)/bin
LIBDIR	 := $(PREFIX)/lib
MANDIR	 := $(PREFIX)/share/man
COMPDIR	 := $(PREFIX)/share/bash-completion/completions
UNITDIR	 := $(PREFIX)/lib/systemd/system
DOCDIR	 := $(PREFIX)/share/doc/ringback

install: all ## program, library, man page, completion, systemd unit; PREFIX, DESTDIR
	install -D -m 755 $(O)/ringback $(DESTDIR)$(BINDIR)/ringback
	install -D -m 644 $(O)/libringback-crash.so $(DESTDIR)$(LIBDIR)/libringback-crash.so
	install -D -m 644 recorder/ringback.1 $(DESTDIR)$(MANDIR)/man1/ringback.1
	install -D -m 644 recorder/ringback-export.1 $(DESTDIR)$(MANDIR)/man1/ringback-export.1
	install -D -m 644 recorder/ringback-record.1 $(DESTDIR)$(MANDIR)/man1/ringback-record.1
	install -D -m 644 recorder/ringback-rules.7 $(DESTDIR)$(MANDIR)/man7/ringback-rules.7
	install -D -m 644 recorder/ringback.bash $(DESTDIR)$(COMPDIR)/ringback
	install -D -m 644 recorder/ringback.conf $(DESTDIR)$(DOCDIR)/ringback.conf
	install -d $(DESTDIR)$(UNITDIR)
	sed 's,@BINDIR@,$(BINDIR),' recorder/ringback.service >$(DESTDIR)$(UNITDIR)/ringback.service
	chmod 644 $(DESTDIR)$(UNITDIR)/ringback.service

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/ringback $(DESTDIR)$(LIBDIR)/libringback-crash.so \
		$(DESTDIR)$(MANDIR)/man1/ringback.1 $(DESTDIR)$(MANDIR)/man1/ringback-export.1 \
		$(DESTDIR)$(MANDIR)/man1/ringback-record.1 \
		$(DESTDIR)$(MANDIR)/man7/ringback-rules.7 $(DESTDIR)$(COMPDIR)/ringback \
		$(DESTDIR)$(DOCDIR)/ringback.conf $(DESTDIR)$(UNITDIR)/ringback.service
	rmdir $(DESTDIR)$(DOCDIR) 2>/dev/null || true

clean: ## remove the build directory
	rm -rf $(O)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22
	@echo "  variables: O=DIR CC=clang SAN=address,undefined WERROR=1 V=1 PREFIX=DIR DESTDIR=DIR"
	@echo "             FUZZ_SECONDS=N BENCH=NAME"

FORCE:
.PHONY: all tests-build fuzz-build san-build deps demo check bench fuzz format install uninstall clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
