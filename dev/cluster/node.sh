#!/bin/sh
# First process of the real node's own PID, mount and network namespaces. When it ends, by whatever cause, the kernel ends every
# process in them and undoes every mount, so that a node can leave neither behind.
#
# From the environment: STATE (folder of the cluster), MOUNT_POINTS (folders of the machine that the node gets of its
# own, kept in STATE), NODE_NAME, NODE_IP, and the programs CONTAINERD, KUBELET, KUBE_PROXY and COREDNS.
set -eu

mount --make-rshared /
# crun starts nothing if both hierarchies of control groups are mounted.
if [ -d /sys/fs/cgroup/unified ]; then umount /sys/fs/cgroup/unified 2>/dev/null || true; fi
for folder in $MOUNT_POINTS; do mount --bind "$STATE/node/mounts$folder" "$folder"; done

# The kubelet insists on settings that would outlive it on the machine; here it sets copies.
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  copy="$STATE/node/sysctl-$(basename "$setting")"
  cat "/proc/sys/$setting" >"$copy"
  mount --bind "$copy" "/proc/sys/$setting"
done
# A Pod with a user namespace of its own gets a /proc only if the node has one over which nothing is mounted.
mkdir -p "$STATE/node/proc"
mount -t proc proc "$STATE/node/proc"

trap 'exit 1' TERM

# Runs a command, and restarts it when it ends: a user's Pod can crash one of these commands, and running containers do not
# need it. After five runs in a row of less than ten seconds each, ends the node.
run() {
  name=$1
  shift
  quick=0
  while [ "$quick" -lt 5 ]; do
    code=0
    began=$(date +%s)
    "$@" >>"$STATE/logs/$name.log" 2>&1 || code=$?
    if [ $(($(date +%s) - began)) -ge 10 ]; then quick=0; else quick=$((quick + 1)); fi
    echo "$name has ended with $code; the end of its log:"
    tail -n 10 "$STATE/logs/$name.log"
    sleep "${PAUSE:-0.5}"
  done
  kill -TERM 1
}

# The machine plugs the node in from outside.
while ! [ -e "$STATE/node/plugged" ]; do sleep 0.02; done
run kube-proxy "$KUBE_PROXY" --config="$STATE/node/kube-proxy.yaml" &
run coredns "$COREDNS" -conf "$STATE/node/Corefile" &
run containerd "$CONTAINERD" --config "$STATE/node/containerd.toml" &
while ! [ -S /run/containerd/containerd.sock ]; do sleep 0.02; done
run kubelet "$KUBELET" --config="$STATE/node/kubelet.yaml" --kubeconfig="$STATE/pki/kubelet.kubeconfig" \
  --hostname-override="$NODE_NAME" --node-ip="$NODE_IP" &
wait
