#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fetch_onednn.sh FOLDER: unpacks the wheels of onednn.txt into FOLDER/{include,lib,licenses}, unless
# just these are there. Needs python3 with pip, which knows where the machine's package index is.
set -eu
folder=$1
wheels=$(dirname "$0")/onednn.txt
if cmp -s "$wheels" "$folder/wheels.txt"; then
  exit 0
fi

new=$folder.new
rm -rf "$new"
mkdir -p "$new/include" "$new/lib" "$new/licenses"
python3 -m pip download --quiet --require-hashes --no-deps --only-binary :all: \
  --dest "$new/wheels" --requirement "$wheels"
for wheel in "$new"/wheels/*.whl; do
  python3 -m zipfile -e "$wheel" "$new/unpacked"
done
cp -R "$new"/unpacked/*.data/data/include/. "$new/include"
cp "$new"/unpacked/*.data/data/lib/libdnnl.so.3 "$new/lib"
cp "$new"/unpacked/onednn_cpu_gomp-*.data/data/share/doc/onednn/LICENSE \
  "$new"/unpacked/onednn_cpu_gomp-*.data/data/share/doc/onednn/THIRD-PARTY-PROGRAMS "$new/licenses"
rm -r "$new/wheels" "$new/unpacked"
cp "$wheels" "$new/wheels.txt"
rm -rf "$folder"
mv "$new" "$folder"
