#!/usr/bin/env bash
# Removes from all ResourceBindings what vc-dispatcher has written, and lifts what it has suspended. Everything that waits
# starts then. Run it on Karmada's API server, after the webhooks and the Deployment are gone. It needs kubectl and jq. The
# arguments are passed to kubectl:
#
#   config/dispatcher/clean-up.sh --context KARMADA
set -euo pipefail

# One line for each binding: namespace, name, and patch. A suspension that somebody else wants, too, stays.
patches='
  .items[]
  | (.metadata.annotations // {}) as $annotations
  | (.metadata.finalizers // []) as $finalizers
  | $annotations["volcano.sh/hold"] as $hold
  | select($hold or $annotations["volcano.sh/granted"] or $annotations["volcano.sh/requeued"] or $annotations["volcano.sh/changing"] or ($finalizers | index("volcano.sh/charged")))
  | (try ($hold | fromjson) catch {}) as $held
  | ({
      metadata: {
        resourceVersion: .metadata.resourceVersion,
        annotations: {"volcano.sh/hold": null, "volcano.sh/granted": null, "volcano.sh/requeued": null, "volcano.sh/changing": null},
        finalizers: ($finalizers - ["volcano.sh/charged"])
      }
    }
    + if $hold then {spec: {suspension: (
        (if $held.keepScheduling then {} else {scheduling: false} end) + (if $held.dispatching then {dispatching: false} else {} end)
      )}} else {} end) as $patch
  | "\(.metadata.namespace) \(.metadata.name) \($patch | tojson)"'

kubectl "$@" get resourcebindings.work.karmada.io --all-namespaces --output json | jq --raw-output "$patches" |
  while read -r namespace name patch; do
    kubectl "$@" --namespace "$namespace" patch resourcebindings.work.karmada.io "$name" --type merge --patch "$patch" </dev/null ||
      echo "$namespace/$name has changed meanwhile: run this again" >&2
  done
