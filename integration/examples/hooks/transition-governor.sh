#!/bin/sh
# transition: a section whose name ends in "deploy" is entered only once the operator has made the file approvals/deploy
# beside the hooks file, which is the folder hooks run in. No section is tried more than twice.
#
# The document is compact JSON on one line, so a quote inside a string is written \" and these words can only be keys. One that is cut,
# or has no text as its path, is refused, as is whatever else this does not know.
set -eu

refuse() {
  printf '{"reason":"%s"}\n' "$1"
  exit 2
}

document=$(cat)
case $document in
'{"hook":'*'"path":"'*'","moment":"enter",'*'}') ;;
'{"hook":'*'"path":"'*'","moment":"leave",'*'}') exit 0 ;;
*) refuse 'this is no crossing that the governor knows' ;;
esac
case $document in
*'"attempt":1,'* | *'"attempt":2,'*) ;;
*) refuse 'two attempts are enough: ask the operator' ;;
esac
case $document in
*'deploy","moment"'*) [ -e approvals/deploy ] || refuse 'deploying waits for the operator: approvals/deploy is not there' ;;
esac
