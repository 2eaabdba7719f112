#!/usr/bin/env bash
# Generates deepcopy functions, clients and CRDs from apis/. The argument, if there is one, is
# the folder of a copy of the repository to work on.
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/tools" && pwd)
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -C "$tools" -o "$bin/" \
  k8s.io/code-generator/cmd/{deepcopy-gen,applyconfiguration-gen,client-gen,lister-gen,informer-gen} \
  sigs.k8s.io/controller-tools/cmd/controller-gen

module=$(go list -m)
api=apis/scheduling/v1beta1
client=pkg/client
upstream=volcano.sh/apis/pkg/apis/scheduling/v1beta1
upstream_apply=volcano.sh/apis/pkg/client/applyconfiguration/scheduling/v1beta1
external=$(printf "$upstream.%s:$upstream_apply," QueueSpec QueueStatus Affinity Cluster Guarantee Reservation)
header=(--go-header-file hack/boilerplate.go.txt)

rm -rf "$client" "$api"/zz_generated.*.go apis/{accounting,visibility}/v1alpha1/zz_generated.*.go
"$bin/deepcopy-gen" "${header[@]}" --output-file zz_generated.deepcopy.go "./$api" ./apis/{accounting,visibility}/v1alpha1
"$bin/applyconfiguration-gen" "${header[@]}" \
  --output-dir "$client/applyconfiguration" --output-pkg "$module/$client/applyconfiguration" \
  --external-applyconfigurations "${external%,}" \
  "./$api"
"$bin/client-gen" "${header[@]}" --clientset-name versioned --input-base "" --input "$module/$api" \
  --output-dir "$client/clientset" --output-pkg "$module/$client/clientset" \
  --apply-configuration-package "$module/$client/applyconfiguration"
"$bin/lister-gen" "${header[@]}" --output-dir "$client/listers" --output-pkg "$module/$client/listers" "./$api"
"$bin/informer-gen" "${header[@]}" --output-dir "$client/informers" --output-pkg "$module/$client/informers" \
  --versioned-clientset-package "$module/$client/clientset/versioned" --listers-package "$module/$client/listers" "./$api"
"$bin/controller-gen" crd paths="./$api" paths=./apis/accounting/v1alpha1 output:crd:dir=config/crd

# Quantities in spec.dra get a maximum length; controller-gen has no marker for the values of a map.
# Without a maximum the API server assumes strings of megabytes and rejects the rules that read
# quantities as too costly.
awk '
  match($0, /^ *dra:$/)                { indent = RLENGTH - 4; inside = 1; print; next }
  inside && match($0, /^ */) && RLENGTH <= indent { inside = 0 }
  inside && /x-kubernetes-int-or-string: true/    { line = $0; sub(/x-kub.*/, "maxLength: 32", line); print line }
  { print }
' config/crd/scheduling.volcano.sh_queues.yaml > "$bin/crd.yaml"
mv "$bin/crd.yaml" config/crd/scheduling.volcano.sh_queues.yaml

# API servers before Kubernetes 1.34 cannot estimate the cost of rules that compare quantities and reject
# them. For those there is a CRD without these rules; the scheduler validates the quantities itself.
mkdir -p config/crd-before-1.34
awk '
  function flush() { if (item != "" && item !~ /quantity\(/) printf "%s", item; item = "" }
  match($0, /^ */) && listed && (RLENGTH < indent || (RLENGTH == indent && $0 !~ /^ *- /)) { flush(); listed = 0 }
  listed && $0 ~ /^ *- / && RLENGTH == indent { flush() }
  listed { item = item $0 "\n"; next }
  { print }
  /x-kubernetes-validations:$/ { match($0, /^ */); indent = RLENGTH; listed = 1 }
' config/crd/scheduling.volcano.sh_queues.yaml > config/crd-before-1.34/scheduling.volcano.sh_queues.yaml
