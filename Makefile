# SPDX-License-Identifier: Apache-2.0
#
# The few commands people type. The build itself is Meson's (meson.build).

PREFIX ?= /usr/local
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

RELEASE := build/release

.PHONY: all run test bench bench-peers prove lint format check clean install deps hooks help

all: ## build ./pawl and ./pawl-launch (optimised)
	@scripts/web-deps
	@scripts/configure release
	@ninja -C $(RELEASE) -j $(JOBS) src/pawl src/pawl-launch
	@install -m 755 $(RELEASE)/src/pawl $(RELEASE)/src/pawl-launch .

run: ## install what is missing, build, start the daemon on ./data
	@scripts/install-deps build
	@$(MAKE) --no-print-directory all
	@echo "the dashboard, once it is ready: http://127.0.0.1:7420/ui/"
	@exec ./pawl serve --data ./data

test: ## install what is missing, build with both compilers, run all tests
	@scripts/install-deps test
	@exec scripts/test

prove: ## long runs with crashes and faults (PROVE_SECONDS=600)
	@scripts/install-deps test
	@exec scripts/prove

bench: all ## measure
	@if [ -x bench/run ]; then exec bench/run; else echo "bench: there is no bench/run"; fi

bench-peers: all ## measure against other queues on PostgreSQL (needs Node and npm)
	@scripts/install-deps test
	@ninja -C $(RELEASE) -j $(JOBS) bench/load
	@exec bench/peers/run

lint: ## format check, house rules, clang-tidy
	@scripts/install-deps test
	@exec tools/lint

check: ## the quick checks before a commit
	@exec tools/check

format: ## rewrite the C files in the house format
	@exec tools/format

install: all ## programs, man pages and systemd unit into $(DESTDIR)$(PREFIX)
	tools/man ./pawl build/man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 755 pawl pawl-launch clients/move/pawl-from-* $(DESTDIR)$(PREFIX)/bin
	install -m 644 build/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	sed 's|/usr/local|$(PREFIX)|' packaging/pawl.service \
	    >$(DESTDIR)$(PREFIX)/lib/systemd/system/pawl.service

deps: ## install the Debian packages for building and testing
	@exec scripts/install-deps test

hooks: ## let git run tools/check before each commit
	git config core.hooksPath tools/hooks

clean: ## remove what the targets above have built
	rm -rf build/release build/asan build/tsan build/clang build/fuzz build/coverage build/man build/peers
	rm -f pawl pawl-launch
	-@rmdir build 2>/dev/null || true

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18
