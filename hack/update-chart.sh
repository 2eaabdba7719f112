#!/usr/bin/env bash
# Copies the manifests of config/ that the Helm chart reads into the chart, because Helm reads nothing outside of a chart. A symbolic
# link would do on a checkout that keeps links, which not all do. A test in config/ fails if a copy is out of date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copies=charts/devicequota/config
rm -rf "$copies"
for folder in admission crd crd-before-1.34 rbac visibility webhook; do
  mkdir -p "$copies/$folder"
  cp config/"$folder"/*.yaml "$copies/$folder/"
done
mkdir -p "$copies/monitoring" "$copies/scheduler"
cp config/monitoring/{rules.yaml,dashboard.json} "$copies/monitoring/"
cp config/scheduler/volcano-scheduler.conf "$copies/scheduler/"
rm "$copies"/*/kustomization.yaml
