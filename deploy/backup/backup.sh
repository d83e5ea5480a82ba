#!/bin/sh
# Write a backup, prove that it comes back, and keep the newest ones. A backup that fails the drill is not kept.
#   BACKUPS   the folder they go to
#   KEEP      how many are kept (14)
# and what `postroom` itself reads: POSTROOM_HOME, POSTROOM_DATABASE_URL.
set -eu
: "${BACKUPS:?the folder that backups go to}"
keep=${KEEP:-14}
here=$(dirname "$0")
umask 077
mkdir -p "$BACKUPS"
target="$BACKUPS/postroom-$(date -u +%Y%m%dT%H%M%SZ).tar.gz"
postroom backup "$target"
if ! "$here/drill.sh" "$target"; then
    mv "$target" "$target.failed"
    exit 1
fi
# shellcheck disable=SC2012 # the names are our own
ls -1t "$BACKUPS"/postroom-*.tar.gz | tail -n "+$((keep + 1))" | while read -r old; do rm -f "$old"; done
