#!/bin/sh
# before-call, tools file_write and file_edit: the model may write below src/ and docs/ and nowhere else.
#
# The document is compact JSON on one line, so a quote inside a string is written \" and `"path":` can only be a key.
# Every path in the arguments has to be allowed; a document without one, or with one that is not plain, is refused.
set -eu

refuse() {
  printf '{"reason":"%s"}\n' "$1"
  exit 2
}

document=$(cat)
keys=$(printf '%s\n' "$document" | grep -o '"path":' | wc -l)
paths=$(printf '%s\n' "$document" | grep -o '"path":"[^"\\]*"') || refuse 'the call names no plain path'
[ "$keys" -eq "$(printf '%s\n' "$paths" | wc -l)" ] || refuse 'the call names a path that is not plain'

set -f
IFS='
'
for path in $paths; do
  case $path in
  *..*) refuse 'a path with .. is not followed' ;;
  '"path":"src/'* | '"path":"docs/'*) ;;
  *) refuse 'only files below src/ and docs/ may be written' ;;
  esac
done
