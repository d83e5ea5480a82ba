#!/bin/sh
# Bring a backup back into a folder of its own and count what is in it. Nothing that runs is touched.
#   drill.sh FILE
set -eu
file=${1:?the backup}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset POSTROOM_DATABASE_URL
POSTROOM_HOME="$folder/home" postroom restore "$file" --json
POSTROOM_HOME="$folder/home" postroom conversation list --limit 1 >/dev/null
echo "The backup comes back." >&2
