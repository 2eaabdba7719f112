#!/usr/bin/env bash
# A post-renderer for Volcano's chart: Helm 3 gives it what that chart renders, and takes what this script prints. It puts the Queue CRD
# of this project in the place of Volcano's, so that an upgrade of Volcano does not remove spec.dra. It needs kubectl.
#
#   helm upgrade volcano volcano-sh/volcano ... --post-renderer charts/devicequota/post-render-volcano.sh
#
# Arguments, each with --post-renderer-args:
#   --before-1.34   the CRD for Kubernetes before 1.34
#   --image=IMAGE   the scheduler's image, if Volcano's chart runs the scheduler: the values of Volcano 1.14 have one registry
#                   and one tag for all components
set -euo pipefail

crds=crd
image=
for argument in "$@"; do
  case $argument in
    --before-1.34) crds=crd-before-1.34 ;;
    --image=?*) image=${argument#--image=} ;;
    *) echo "$0: unknown argument $argument" >&2; exit 2 ;;
  esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/volcano.yaml"
cp "$(dirname "${BASH_SOURCE[0]}")/config/$crds/scheduling.volcano.sh_queues.yaml" "$work/queue-crd.yaml"
cat > "$work/kustomization.yaml" <<'KUSTOMIZATION'
resources: [volcano.yaml]
patches:
- path: queue-crd.yaml
# Queues stay when one of the charts is uninstalled.
- target: {kind: CustomResourceDefinition, name: queues.scheduling.volcano.sh}
  patch: |
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata:
      name: queues.scheduling.volcano.sh
      annotations: {helm.sh/resource-policy: keep}
KUSTOMIZATION
if [[ -n $image ]]; then
  cat >> "$work/kustomization.yaml" <<KUSTOMIZATION
- target: {kind: Deployment, labelSelector: app=volcano-scheduler}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/image, value: "$image"}
KUSTOMIZATION
fi
kubectl kustomize "$work"
