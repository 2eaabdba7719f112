#!/bin/sh
# Prints 250 nodes with eight GPUs each, for kubectl apply: 200 with H100 from DRA, and 50 with A100 from a device plugin. Of N nodes, if N is
# the argument, the same share.
set -eu
nodes=${1:-250}

cat <<YAML
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nvidia-h100}
spec:
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
YAML

i=0
while [ "$i" -lt "$nodes" ]; do
  if [ $((i % 5)) -eq 4 ]; then
    labels=', nvidia.com/gpu.product: NVIDIA-A100' cards=', nvidia.com/gpu: "8"'
  else
    labels='' cards=''
    cat <<YAML
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpu-$i}
spec:
  driver: gpu.example.com
  nodeName: gpu-$i
  pool: {name: gpu-$i, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}, {name: gpu-3}, {name: gpu-4}, {name: gpu-5}, {name: gpu-6}, {name: gpu-7}]
YAML
  fi
  cat <<YAML
---
apiVersion: v1
kind: Node
metadata:
  name: gpu-$i
  labels: {topology.kubernetes.io/zone: zone-$((i % 2))$labels}
status:
  allocatable: &all {cpu: "96", memory: 1Ti, pods: "110"$cards}
  capacity: *all
YAML
  i=$((i + 1))
done
