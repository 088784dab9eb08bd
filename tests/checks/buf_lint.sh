#!/usr/bin/env bash
# The API is clean by buf's STANDARD rules (proto/buf.yaml).
#   buf_lint.sh FOLDER_OF_GOOGLE_RPC
# buf gets one image of our files and the google/rpc files that they import, made by protoc.
set -euo pipefail
buf=.deps/buf/node_modules/.bin/buf
[[ -x $buf ]] || {
  echo "buf is missing: run scripts/setup" >&2
  exit 1
}
image=$(mktemp --suffix=.binpb)
trap 'rm -f "$image"' EXIT
mapfile -t files < <(cd proto && find snowlease -name '*.proto')
protoc -Iproto -I"$1" --include_imports --include_source_info --descriptor_set_out="$image" "${files[@]}"
"$buf" lint "$image" --config proto/buf.yaml
echo "buf lint: ${#files[@]} files are clean"
