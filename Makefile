# SPDX-License-Identifier: MIT
#
# ringback: everything is built into $(O), nothing in the source tree changes.
#
#	make                  the program: build/ringback
#	make demo             install what is missing, record a load, fire a trigger, print what happened
#	make check            install what tests need, build, run every test
#	make help             the rest
#
# Variables: O=DIR  CC=clang  SAN=address,undefined  WERROR=1  V=1  PREFIX=/usr/local  SYSCONFDIR=/etc  DESTDIR=
#            FUZZ_SECONDS=600  SOAK_MINUTES=60  BENCH=NAME

O	?= build
CC	= gcc
PREFIX	?= /usr/local
SYSCONFDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),,$(PREFIX))/etc
VERSION	:= 0.1.0

CPPFLAGS += -I. -I$(O)/skel -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DRINGBACK_VERSION='"$(VERSION)"' \
	    -DRINGBACK_CONF='"$(SYSCONFDIR)/ringback/ringback.conf"'
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
# those to its right only; tests/lint/lint_layers.sh and the unit tests' LAYERS hold that.
LAYERS	 := recorder trigger kernel view dump base
base_SRC := $(wildcard dump/base/*.c)
dump_SRC := $(wildcard dump/format/*.c dump/packed/*.c dump/file/*.c)
view_SRC := $(wildcard dump/view/*/*.c)
kernel_SRC := $(wildcard trigger/kernel/*.c)
trigger_SRC  := $(filter-out trigger/kernel/% trigger/client/crash_lib% %.bpf.c,$(wildcard trigger/*/*.c))
recorder_SRC := $(filter-out recorder/cli/main.c,$(wildcard recorder/*/*.c))
LIBS	 := -lseccomp -lbpf -lelf -ldw -llzma -llz4 -lxxhash -linih -ljansson -lz -liberty -lipt -lm
TEST_LIBS := -lcmocka -ltraceevent

obj	 = $(patsubst %.c,$(O)/%.o,$(1))
lib	 = $(O)/lib$(1).a
libs	 = $(foreach l,$(1),$(call lib,$(l)))

# Unit tests: tests/unit/*/t_NAME.c; a first line "/* LAYERS: dump base */" says what it links with (default:
# all); the SPDX line follows it. Programs that tests run as loads: tests/load/load_NAME.c, linked with nothing.
UNIT_SRC := $(wildcard tests/unit/*/t_*.c)
UNITS	 := $(patsubst %.c,$(O)/tests/%,$(notdir $(UNIT_SRC)))
LOADS	 := $(patsubst tests/load/%.c,$(O)/tests/%,$(wildcard tests/load/load_*.c))
TOOLS	 := $(patsubst tests/tools/%.c,$(O)/tests/%,$(wildcard tests/tools/tool_*.c))
FUZZERS	 := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

all: $(O)/ringback $(O)/libringback-crash.so ## build the program, and the library for others

$(O)/ringback: $(O)/recorder/cli/main.o $(call libs,$(LAYERS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The same program; calls of libc can be made to fail, see tests/tools/faults.c.
$(O)/tests/ringback-faults: $(O)/recorder/cli/main.o $(O)/tests/tools/faults.o $(call libs,$(LAYERS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(shell sed -n 's/^\tX.\([a-z_0-9]*\),.*/-Wl,--wrap=\1/p' tests/tools/faults.c) -o $@ $^ $(LIBS)

# What other programs load: it shows nothing but what it stands in for, and never goes away again. No
# sanitizer fits a library that is loaded before its program.
crash_OBJ := $(patsubst %.c,$(O)/pic/%.o,$(wildcard trigger/client/crash_lib*.c) trigger/kernel/regs.c)
PIC_CFLAGS = $(filter-out -fsanitize=% -fno-sanitize-recover=%,$(CFLAGS)) -fPIC -fvisibility=hidden
$(O)/libringback-crash.so: $(crash_OBJ)
	@echo "  LINK    $@"
	$(Q)$(CC) $(PIC_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete,-z,now,-z,defs -o $@ $^
$(O)/pic/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(PIC_CFLAGS) -MMD -MP -c -o $@ $<

# What runs in the kernel, as headers that hold the programs and load them. The compiler for it is always clang.
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
BPF_CC	 := clang -g -O2 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -I. -I/usr/include/$(shell uname -m)-linux-gnu -Wall -Werror \
	    $(filter -ffile-prefix-map=%,$(CFLAGS))
$(O)/skel/%.skel.h: %.bpf.c $(wildcard trigger/bpf/*.h)
	@mkdir -p $(@D)
	@echo "  BPF     $<"
	$(Q)$(BPF_CC) -c -o $(@:.skel.h=.o) $< && \
		PATH=$$PATH:/usr/sbin bpftool gen skeleton $(@:.skel.h=.o) name $(notdir $*)_bpf >$@.new && mv $@.new $@
$(call obj,$(filter trigger/bpf/%,$(trigger_SRC))): $(patsubst %.bpf.c,$(O)/skel/%.skel.h,$(wildcard trigger/bpf/*.bpf.c))

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
$(O)/dump/view/html/html.o $(O)/fuzz/dump/view/html/html.o: $(wildcard dump/view/html/page/*)

layers_of = $(or $(shell sed -n '1s,^/\* LAYERS: \(.*\) \*/$$,\1,p' $(1)),$(LAYERS))
define unit_rule
$(O)/tests/$(basename $(notdir $(1))): $(call obj,$(1)) $(call libs,$(call layers_of,$(1)))
	@echo "  LINK    $$@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $$@ $$^ $(LIBS) $(TEST_LIBS)
endef
$(foreach s,$(UNIT_SRC),$(eval $(call unit_rule,$(s))))
.SECONDEXPANSION:
$(O)/tests/tool_%: $(O)/tests/tools/tool_%.o $$(call libs,$$(call layers_of,tests/tools/tool_$$*.c))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(O)/tests/unit/%.o $(O)/tests/load_%: private CFLAGS += -g
$(O)/tests/load_%: tests/load/load_%.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) -MMD -MP -MT $@ -MF $@.d -o $@ $<

# Fuzz targets have their own objects: clang, libFuzzer, sanitizers. What libFuzzer wants to know makes code half as fast as
# the sanitizers alone do, hence they are not those of $(O)/san.
FUZZ_CC	 := clang -std=gnu11 -g1 -O1 -fno-strict-aliasing -fno-sanitize-recover=undefined
fuzz_OBJ := $(patsubst %.c,$(O)/fuzz/%.o,$(base_SRC) $(dump_SRC) $(view_SRC))
$(O)/fuzz/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  FUZZCC  $<"
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<
$(O)/fuzz/fuzz_%: $(O)/fuzz/tests/fuzz/fuzz_%.o $(fuzz_OBJ)
	@echo "  FUZZ    $@"
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

tests-build: all $(UNITS) $(LOADS) $(TOOLS) $(O)/tests/ringback-faults
fuzz-build: $(FUZZERS) $(O)/tests/tool_seed $(O)/tests/tool_golden
san-build: ## the program and its tests with the sanitizers, by clang, in $(O)/san
	$(Q)$(MAKE) --no-print-directory O=$(O)/san CC=clang SAN=address,undefined tests-build

# Units whose subject has several threads, and the program for tests/program/record/it_threads.sh.
TSAN_UNITS := t_thread_pool t_dump_workers t_ledger_busy t_log t_report t_store t_timeline
tsan-build: ## the program and some units with ThreadSanitizer, by clang, in $(O)/tsan
	$(Q)$(MAKE) --no-print-directory O=$(O)/tsan CC=clang SAN=thread $(O)/tsan/ringback $(TSAN_UNITS:%=$(O)/tsan/tests/%)

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

soak: ## a recorder under churn, kills, reloads and a full disk for SOAK_MINUTES=60: nothing grows, nothing is lost
	$(Q)tests/deps.sh check
	$(Q)$(MAKE) --no-print-directory tests-build
	$(Q)RINGBACK=$(O)/ringback RINGBACK_BUILD=$(O) tests/soak.sh

FUZZ_SECONDS ?= 600
fuzz: ## run the fuzz targets, FUZZ_SECONDS=600 each
	$(Q)tests/deps.sh check
	$(Q)$(MAKE) --no-print-directory fuzz-build
	$(Q)tests/fuzz.sh $(O) $(FUZZ_SECONDS)

format: ## apply .clang-format
	clang-format -i $(shell find recorder trigger dump tests examples -name '*.[ch]')

# What install puts where; uninstall removes exactly these, but no configuration that was changed.
BINDIR	 := $(PREFIX)/bin
LIBDIR	 := $(PREFIX)/lib
INCDIR	 := $(PREFIX)/include
MANDIR	 := $(PREFIX)/share/man
COMPDIR	 := $(PREFIX)/share/bash-completion/completions
UNITDIR	 := $(PREFIX)/lib/systemd/system
PCDIR	 := $(LIBDIR)/pkgconfig
DOCDIR	 := $(PREFIX)/share/doc/ringback
CONF	 := $(SYSCONFDIR)/ringback/ringback.conf
DOCS	 := trigger/RULES.md dump/format/FORMAT.md dump/format/PACKED.md dump/format/SYMBOLS.md dump/view/SCHEMA.md dump/view/export/EXPORT.md \
	    recorder/dist/ringback.conf recorder/dist/crash-hold.conf
EXAMPLES := $(shell find examples -type f)

# filled FILE DIR: installs it with the paths of this installation
filled	 = sed -e 's,@BINDIR@,$(BINDIR),; s,@INCDIR@,$(INCDIR),; s,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' \
	   -e 's,/usr/local/share/doc/ringback,$(DOCDIR),; s,/etc/ringback/,$(SYSCONFDIR)/ringback/,' $(1) \
	   >$(DESTDIR)$(2)/$(notdir $(1)) && chmod 644 $(DESTDIR)$(2)/$(notdir $(1))

install: all ## program, library, header, documentation, completion, unit, configuration; PREFIX, SYSCONFDIR, DESTDIR
	install -D -m 755 $(O)/ringback $(DESTDIR)$(BINDIR)/ringback
	install -D -m 644 $(O)/libringback-crash.so $(DESTDIR)$(LIBDIR)/libringback-crash.so
	install -D -m 644 trigger/client/ringback.h $(DESTDIR)$(INCDIR)/ringback.h
	install -D -m 644 recorder/dist/ringback.bash $(DESTDIR)$(COMPDIR)/ringback
	install -D -m 644 -t $(DESTDIR)$(DOCDIR) $(DOCS)
	for f in $(EXAMPLES); do \
		install -D -m "$$([ -x $$f ] && echo 755 || echo 644)" $$f $(DESTDIR)$(DOCDIR)/$$f || exit; done
	install -d $(addprefix $(DESTDIR),$(MANDIR)/man1 $(MANDIR)/man7 $(UNITDIR) $(PCDIR))
	$(foreach f,$(wildcard recorder/dist/*.1),$(call filled,$(f),$(MANDIR)/man1) &&) \
		$(foreach f,$(wildcard recorder/dist/*.7),$(call filled,$(f),$(MANDIR)/man7) &&) \
		$(foreach f,$(wildcard recorder/dist/*.service),$(call filled,$(f),$(UNITDIR)) &&) $(call filled,trigger/client/ringback.pc,$(PCDIR))
	[ -e $(DESTDIR)$(CONF) ] || install -D -m 600 recorder/dist/ringback.conf $(DESTDIR)$(CONF)

uninstall: ## remove what install put there, but a changed configuration
	rm -f $(addprefix $(DESTDIR),$(BINDIR)/ringback $(LIBDIR)/libringback-crash.so $(INCDIR)/ringback.h \
		$(patsubst recorder/dist/%,$(MANDIR)/man1/%,$(wildcard recorder/dist/*.1)) \
		$(patsubst recorder/dist/%,$(MANDIR)/man7/%,$(wildcard recorder/dist/*.7)) \
		$(COMPDIR)/ringback $(addprefix $(DOCDIR)/,$(notdir $(DOCS)) $(EXAMPLES)) \
		$(patsubst recorder/dist/%,$(UNITDIR)/%,$(wildcard recorder/dist/*.service)) $(PCDIR)/ringback.pc)
	! cmp -s recorder/dist/ringback.conf $(DESTDIR)$(CONF) || rm -f $(DESTDIR)$(CONF)
	find $(DESTDIR)$(DOCDIR) $(DESTDIR)$(dir $(CONF)) -type d -empty -delete 2>/dev/null || true

deb: ## Debian packages in $(O)/deb
	$(Q)recorder/dist/deb.sh $(O)/deb $(VERSION)

clean: ## remove the build directory
	rm -rf $(O)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22
	@echo "  variables: O=DIR CC=clang SAN=address,undefined WERROR=1 V=1 PREFIX=DIR SYSCONFDIR=DIR DESTDIR=DIR"
	@echo "             FUZZ_SECONDS=N SOAK_MINUTES=N BENCH=NAME"

FORCE:
.PHONY: all tests-build fuzz-build san-build tsan-build deps demo check bench soak fuzz format install uninstall deb clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
