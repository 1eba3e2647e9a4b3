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

O	?= build
CC	= gcc
PREFIX	?= /usr/local
VERSION	:= 0.1.0

CPPFLAGS := -I. -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DRINGBACK_VERSION='"$(VERSION)"'
CFLAGS	?= -O2 -g
CFLAGS	+= -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	   -Wno-unused-parameter -fno-strict-aliasing -fno-common -pthread
LDFLAGS	+= -pthread
ifdef WERROR
CFLAGS	+= -Werror
endif
ifdef SAN
CFLAGS	+= -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS	+= -fsanitize=$(SAN)
endif
ifndef V
Q := @
endif

# A library per layer, in the order of the data (DESIGN: data order is include order). Each links with
# those to its right only; tests/lint_layers.sh and the unit tests' LAYERS hold that.
LAYERS	 := recorder trigger view dump base
base_SRC := $(wildcard dump/base/*.c)
dump_SRC := $(wildcard dump/*.c)
view_SRC := $(wildcard dump/view/*.c)
trigger_SRC  := $(wildcard trigger/*.c)
recorder_SRC := $(filter-out recorder/main.c,$(wildcard recorder/*.c))
LIBS	 := -ltraceevent -lelf -llz4 -lxxhash -linih -ljansson -lm

obj	 = $(patsubst %.c,$(O)/%.o,$(1))
lib	 = $(O)/lib$(1).a
libs	 = $(foreach l,$(1),$(call lib,$(l)))

# Unit tests: tests/t_NAME.c; a first line "/* LAYERS: dump base */" says what it links with (default:
# all). Programs that tests run as loads: tests/load_NAME.c, linked with nothing.
UNITS	 := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/t_*.c))
LOADS	 := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/load_*.c))
TOOLS	 := $(patsubst tests/%.c,$(O)/tests/%,$(wildcard tests/tool_*.c))
FUZZERS	 := $(patsubst tests/%.c,$(O)/fuzz/%,$(wildcard tests/fuzz_*.c))

all: $(O)/ringback ## build the program

$(O)/ringback: $(O)/recorder/main.o $(call libs,$(LAYERS))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

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

layers_of = $(or $(shell sed -n '1s,^/\* LAYERS: \(.*\) \*/$$,\1,p' $(1)),$(LAYERS))
.SECONDEXPANSION:
$(O)/tests/t_%: $(O)/tests/t_%.o $$(call libs,$$(call layers_of,tests/t_$$*.c))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
$(O)/tests/tool_%: $(O)/tests/tool_%.o $$(call libs,$$(call layers_of,tests/tool_$$*.c))
	@echo "  LINK    $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
$(O)/tests/load_%: tests/load_%.c $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(CFLAGS)) -o $@ $<

# Fuzz targets have their own objects: clang, libFuzzer, sanitizers.
$(O)/fuzz/fuzz_%: tests/fuzz_%.c $(base_SRC) $(dump_SRC) $(view_SRC)
	@mkdir -p $(@D)
	@echo "  FUZZ    $@"
	$(Q)clang $(CPPFLAGS) -std=gnu11 -g -O1 -fno-strict-aliasing -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -o $@ $^ $(LIBS)

tests-build: $(O)/ringback $(UNITS) $(LOADS) $(TOOLS)
fuzz-build: $(FUZZERS)

clean: ## remove the build directory
	rm -rf $(O)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22
	@echo "  variables: O=DIR CC=clang SAN=address,undefined WERROR=1 V=1 PREFIX=DIR DESTDIR=DIR"

FORCE:
.PHONY: all tests-build fuzz-build clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
