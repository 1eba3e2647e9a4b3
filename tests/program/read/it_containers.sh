#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Names of pods and containers: two processes share a CPU, one in the control group of a pod's
# container, one in that of docker's. In a mount namespace of this test are the state files that a
# runtime would have made. All commands that print control groups have the names.
if [ "$(id -u)" = 0 ] && [ -z "${RINGBACK_OWN_MOUNTS-}" ]; then
	RINGBACK_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0"
fi
. tests/helpers/tap.sh
. tests/helpers/recorder.sh
. tests/helpers/cgroup.sh

only_root "names of containers" "root may make control groups and mounts"

app_id=$(printf '%064x' 0xa$$) web_id=$(printf '%064x' 0xb$$)
uid=1234abcd-56ef-7890-abcd-ef0123456789

groups=()
remove_groups() {
	local i

	for ((i = ${#groups[@]} - 1; i >= 0; i--)); do wait_for 5 rmdir "${groups[i]}"; done
}
at_end+=(remove_groups)

# group PATH: a control group below $base
group() {
	mkdir "$base/$1" && groups+=("$base/$1")
}

# burn PATH: runs in this control group, on CPU 0; sets $bg_pid
burn() {
	in_background bash -c "echo \$\$ >'$base/$1/cgroup.procs'; for ((;;)); do :; done"
	taskset -pc 0 "$bg_pid" >/dev/null
	wait_for 20 grep -qx "$bg_pid" "$base/$1/cgroup.procs"
}

for dir in /run /var/log /var/lib; do mount -t tmpfs -o mode=755 tmpfs $dir; done
containerd=/run/containerd/io.containerd.runtime.v2.task/k8s.io/$app_id
docker=/var/lib/docker/containers/$web_id
install -d -m 700 "$containerd" "$docker"
cat >"$containerd/config.json" <<END
{"ociVersion": "1.1.0", "annotations": {"io.kubernetes.cri.sandbox-name": "checkout-7d9",
	"io.kubernetes.cri.sandbox-namespace": "shop", "io.kubernetes.cri.container-name": "app"}}
END
echo '{"Name": "/web", "Config": {"Labels": {}}}' >"$docker/config.v2.json"
chmod 600 "$containerd/config.json" "$docker/config.v2.json"
app_name="pod checkout-7d9, container app"
web_name="container web (docker)"

if ! make_cgroup ringback-test; then
	skip "names of containers" "no control group may be made here"
	tap_end
	exit
fi
base=$cgroup
groups+=("$base")
group "pod$uid"
group "pod$uid/$app_id"
group "docker-$web_id.scope"

# Names are looked up at idle priority, which takes long on a busy machine.
rec_start -a -m 8M --symbols=300s
burn "pod$uid/$app_id"
app=$bg_pid
burn "docker-$web_id.scope"
sleep 1
path=$(dump_now)
# What the kubelet alone tells.
rm -r "$containerd"
mkdir -p "/var/log/pods/shop_checkout-7d9_$uid/app"
second=$(dump_now)
rec_stop
kill "$app" "$bg_pid"

for columns in 100 140; do
	COLUMNS=$columns "$RINGBACK" report "$path" >"$work/report"
	check "report has the pod's container in $columns columns" grep -q "^  pod checkout.*ner app  *[0-9.]* m*s" "$work/report"
	check "and docker's" grep -q "^  $web_name  *[0-9.]* m*s" "$work/report"
done
"$RINGBACK" why --tid "$app" "$path" >"$work/why"
check "why says where the thread is" grep -q "^container .* in $app_name" "$work/why"
"$RINGBACK" why --json --tid "$app" "$path" >"$work/json"
check "its JSON too" jq -e '.asked_by | .namespace == "shop" and .pod == "checkout-7d9" and .container == "app"' "$work/json"
check "the blame matrix has the pod's container" jq -e --arg name "$app_name" '
	.blame[] | select(.name == $name) | .namespace == "shop" and .pod == "checkout-7d9" and .container == "app"' "$work/json"
check "and that docker's ran meanwhile" jq -e --arg name "$app_name" --arg web "$web_name" '
	.blame[] | select(.name == $name) | .others[] | select(.name == $web) | .pod == null and .container == "web"' "$work/json"
check "the dump is whole" "$RINGBACK" check "$path"

"$RINGBACK" why --tid "$app" "$second" >"$work/why"
check "without the runtime, the kubelet's directory names the pod" grep -q "^container .* in pod checkout-7d9/${app_id:0:12}" "$work/why"
tap_end
