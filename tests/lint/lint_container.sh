#!/bin/bash
# SPDX-License-Identifier: MIT
# The examples of a container and of Kubernetes: the objects are whole, and their capabilities are those of the service and
# IPC_LOCK, which the service does without.
cd "$(dirname "$0")/../.." || exit 1
. tests/helpers/tap.sh

wanted() {
	{
		echo IPC_LOCK
		sed -n 's/^CapabilityBoundingSet=//p' recorder/dist/ringback.service | tr ' ' '\n' | sed 's/^CAP_//'
	} | sort
}
in_yaml() {
	python3 - examples/kubernetes/ringback.yaml <<'END'
import sys, yaml

parts = {o["kind"]: o for o in yaml.safe_load_all(open(sys.argv[1]))}
pod = parts["DaemonSet"]["spec"]["template"]
spec = pod["spec"]
box, keeper = spec["containers"]
assert parts["DaemonSet"]["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
assert parts["DaemonSet"]["metadata"]["namespace"] == parts["Namespace"]["metadata"]["name"]
assert {v["name"] for v in spec["volumes"]} == {m["name"] for m in box["volumeMounts"]}
assert spec["hostPID"] and box["livenessProbe"]["exec"]["command"][1] == "status"
assert "privileged" not in box["securityContext"] and box["securityContext"]["capabilities"]["drop"] == ["ALL"]
assert keeper["args"] == ["keep"] and keeper["image"] == box["image"]
assert keeper["securityContext"]["capabilities"] == {"drop": ["ALL"]}
assert "[record]" in parts["ConfigMap"]["data"]["ringback.conf"]
print("\n".join(sorted(box["securityContext"]["capabilities"]["add"])))
END
}
in_readme() {
	grep -o 'cap-add [a-z_,]*' examples/container/README.md | cut -d' ' -f2 | tr 'a-z,' 'A-Z\n' | sort
}
equal "the DaemonSet has the capabilities that it needs" "$(wanted)" "$(in_yaml 2>&1)"
equal "the container has them too" "$(wanted)" "$(in_readme)"
tap_end
