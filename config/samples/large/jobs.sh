#!/bin/sh
# Prints jobs for the cluster and the queues of this folder, for kubectl apply: "running" prints four that fill it, "waiting" one for each reason
# to wait, which are for a cluster that is full.
set -eu

# job NAME QUEUE PODS REQUESTS [POD] prints a gang. REQUESTS are those of a pod, and POD has other fields of its spec.
job() {
  cat <<YAML
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: $1, namespace: default}
spec:
  schedulerName: ${scheduler:-volcano}
  queue: $2
  minAvailable: $3
  tasks:
  - name: worker
    replicas: $3
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: main
          image: registry.example.com/main:v1
          resources: {requests: {$4}, limits: {$4}${6:-}}
        ${5:-}
YAML
}

# devices NAME QUEUE PODS TEMPLATE prints a gang whose pods have a claim each.
devices() {
  job "$1" "$2" "$3" 'cpu: "8", memory: 64Gi' "resourceClaims: [{name: gpus, resourceClaimTemplateName: $4}]" ', claims: [{name: gpus}]'
}

running() {
  for count in 8 16; do
    cat <<YAML
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: h100-$count, namespace: default}
spec: {spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: nvidia-h100, count: $count}}]}}}
YAML
  done
  devices pretrain language 100 h100-8
  devices detect vision 25 h100-8
  devices rank search 74 h100-8
  job classic vision 30 'cpu: "8", nvidia.com/gpu: "8"'
}

waiting() {
  devices over-quota language 1 h100-8                                # InsufficientScalarQuota, of research
  job over-cards vision 8 'cpu: "8", nvidia.com/gpu: "8"'             # InsufficientScalarQuota, of cards
  job over-cpu ads 1 'cpu: "90"'                                      # InsufficientCPUQuota
  job over-memory ads 1 'memory: 500Gi'                               # InsufficientMemoryQuota
  devices nothing-free search 2 h100-8                                # InsufficientDevices
  devices too-wide search 1 h100-16                                   # NeverFits: no node has 16 H100
  job too-many-cards vision 1 'cpu: "8", nvidia.com/gpu: "16"'        # NeverFits: no node has 16 A100
  job too-large search 1 'cpu: "500"'                                 # NeverFits: no node has as much cpu
  job nowhere search 1 'cpu: "1"' 'nodeSelector: {topology.kubernetes.io/zone: zone-9}' # NeverFits: no node has the label
  devices no-template search 1 h100-4                                 # GetTaskRequestResourceFailed
  devices no-queue serach 1 h100-8                                    # QueueNotFound
  devices in-parent research 1 h100-8                                 # Unschedulable: the queue has queues below it
  scheduler=default-scheduler devices elsewhere search 1 h100-8       # Unschedulable: another scheduler
}

"$1"
