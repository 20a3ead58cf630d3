#!/bin/sh
# Installs what is missing to build, run and test bellglass: a Chromium, and
# with "--test" a C compiler for the race detector and certutil for the tests of
# a company's authorities. Says what it does.
set -eu

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null 2>&1; then say "sudo $*"; sudo "$@"
	else die "need root to run: $*"
	fi
}

updated=
apt() {
	if [ -z "$updated" ]; then as_root apt-get update -qq; updated=1; fi
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

has_apt() { [ -e /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; }

# Of the distributions that install through apt, Debian has headless shell as
# a package of its own.
install_browser() {
	if has_apt; then
		say "no Chromium found; installing chromium-headless-shell with apt-get"
		apt chromium-headless-shell || apt chromium ||
			die "apt-get has no Chromium; install one by hand and set BELLGLASS_BROWSER_BIN to its path"
	elif [ "$(uname -s)" = Darwin ]; then
		command -v brew >/dev/null 2>&1 ||
			die "no Chromium found and no Homebrew to install it with; install Chromium or Chrome, or set BELLGLASS_BROWSER_BIN"
		say "no Chromium found; installing it with brew"
		brew install --cask chromium
	else
		bin/bellglass doctor --find || true
		die "no Chromium found; install it as said above"
	fi
}

bin/bellglass doctor --find >/dev/null 2>&1 || install_browser
bin/bellglass doctor --find >/dev/null || die "Chromium was installed but is not found; run: bin/bellglass doctor"

if [ "${1-}" = --test ] && ! command -v "$(go env CC)" >/dev/null 2>&1; then
	has_apt || die "the race detector needs a C compiler"
	say "no C compiler found; installing gcc for the race detector"
	apt gcc libc6-dev
fi

if [ "${1-}" = --test ] && has_apt && ! command -v certutil >/dev/null 2>&1; then
	say "no certutil found; installing libnss3-tools"
	apt libnss3-tools
fi
