#!/bin/sh
# Prints what users apply in a minute of the example in docs/monitoring.md: story.sh MINUTE CLUSTER, where the cluster is member or karmada. The
# working directory is the root of the repository.
set -eu

queue() {
  cat <<YAML
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: $1, annotations: {${4:-}}}
spec: {parent: $2, $3}
YAML
}

claims() {
  cat <<YAML
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: $1, namespace: default}
spec: {spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: nvidia-h100, count: 8}}]}}}
YAML
}

# job NAME QUEUE PODS MINIMUM REQUESTS CLAIMS POD [TIME] prints a job whose pods run for a time.
job() {
  cat <<YAML
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: $1, namespace: default}
spec:
  schedulerName: volcano
  queue: $2
  ${priority:+priorityClassName: $priority}
  minAvailable: $4
  tasks:
  - name: worker
    replicas: $3
    minAvailable: $4
    template:
      metadata: {annotations: {devicequota.io/run-for: ${8:-1h}}}
      spec: {restartPolicy: Never, ${priority:+priorityClassName: $priority,} containers: [{name: main, image: "registry.example.com/main:v1", resources: {requests: {$5}, limits: {$5}$6}}], $7}
YAML
}

# devices NAME QUEUE PODS MINIMUM TEMPLATE [TIME] prints a job whose pods have a claim each, and cards NAME QUEUE PODS one whose pods have cards.
devices() {
  job "$1" "$2" "$3" "$4" 'cpu: 8, memory: 64Gi' ', claims: [{name: gpus}]' "resourceClaims: [{name: gpus, resourceClaimTemplateName: $5}]" "${6:-1h}"
}
cards() {
  job "$1" "$2" "$3" "$3" 'cpu: 8, memory: 64Gi, nvidia.com/gpu: "8"' '' 'nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100}'
}

case "$2 $1" in
'member 0')
  config/samples/large/cluster.sh | sed '/devices: /s/{name: gpu-\([0-7]\)}/{name: gpu-\1, capacity: {memory: {value: 80Gi}}}/g'
  echo '---'
  cat config/samples/large/queues.yaml
  queue products root 'dra: {capability: {nvidia-h100: {count: 700}}, deserved: {nvidia-h100: {count: 496}}, guarantee: {nvidia-h100: {count: 16}}}' \
    "volcano.sh/card.guarantee: '{\"NVIDIA-A100\": 16}'"
  queue vision research 'dra: {deserved: {nvidia-h100: {count: 400}}, capability: {nvidia-h100: {count: 500, capacity: {memory: 40000Gi}}}}'
  queue search products 'dra: {capability: {nvidia-h100: {count: 480}}, deserved: {nvidia-h100: {count: 480}}}'
  queue ads products 'capability: {cpu: "64", memory: 256Gi}, dra: {deserved: {nvidia-h100: {count: 16}}, guarantee: {nvidia-h100: {count: 16}}}' \
    "volcano.sh/card.quota: '{\"NVIDIA-A100\": 32}', volcano.sh/card.guarantee: '{\"NVIDIA-A100\": 16}'"
  claims eight
  printf -- '---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}\n'
  ;;
'karmada 0')
  cat config/samples/multicluster/karmada/policies.yaml
  echo '---'
  config/samples/large/cluster.sh 0
  queue research root ''
  queue language research 'dra: {capability: {nvidia-h100: {count: 600}}, deserved: {nvidia-h100: {count: 500}}}' "volcano.sh/card.quota: '{\"NVIDIA-A100\": 64}'"
  claims eight-anywhere # Karmada does not overwrite what a member has
  ;;
'member 1')
  devices rank search 60 50 eight 10m
  cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: notebook, namespace: default}
spec:
  nodeName: gpu-249
  containers: [{name: main, image: "registry.example.com/main:v1", resources: {limits: {nvidia.com/gpu: "2"}}}]
YAML
  ;;
'member 2')
  devices detect vision 60 25 eight
  cards classic vision 30
  ;;
'karmada 3') devices pretrain language 65 65 eight-anywhere 10m ;;
'karmada 4') cards distill language 4 ;;
'member 5') devices tune language 10 1 eight ;;
'member 6')
  cards over-cards vision 8
  job over-cpu ads 1 1 'cpu: 90' '' ''
  ;;
'karmada 6') devices next language 20 20 eight-anywhere ;;
'member 7') queue audio research 'dra: {deserved: {nvidia-h10: {count: 8}}}' ;;
'member 8') priority=urgent devices urgent search 8 8 eight ;;
'member 10') queue audio research 'dra: {deserved: {nvidia-h100: {count: 8}}}' ;;
esac
