#!/usr/bin/env bash
# Fails and prints the difference if generated code or the CRD is out of date. It does not change the
# work tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/pkg" "$copy/config"
cp -r go.mod go.sum apis hack "$copy/"
cp -r pkg/client "$copy/pkg/"
cp -r config/crd config/crd-before-1.34 "$copy/config/"
hack/update-codegen.sh "$copy"
for generated in apis pkg/client config/crd config/crd-before-1.34; do
  diff -Nur "$generated" "$copy/$generated" || { echo "$generated is out of date: run \`make generate\`" >&2; exit 1; }
done
