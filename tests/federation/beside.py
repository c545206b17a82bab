#!/usr/bin/env python3
"""The same stories told to a Karmada that runs and to Hanse; whatever users can see of them afterwards is compared.

    KUBECTL=FILE KARMADA=HUB,MEMBER1,MEMBER2,MEMBER3 BESIDE=HUB,MEMBER1,MEMBER2,MEMBER3 tests/federation/beside.py [STORY...]

Both are lists of kubeconfigs; the clusters are named member1, member2 and member3 in both hubs. A story is a file in
`beside/`. A line of it that begins with `$ ` is carried out in both worlds, with the lines below it as its input:

    $ hub ARGS...      kubectl with the hub, in the namespace of the story
    $ member1 ARGS...  kubectl with a member
    $ fails hub ...    the same; it has to fail in both
    $ ran              every workload in a member says that it runs as it should
    $ look             waits until both worlds are at rest and look the same
    $ finally hub ...  carried out at the end, whatever happened

Differences that are meant to be are in `beside/differences.txt`, each with its reason. Everything else is a bug.
"""

import base64
import glob
import http.client
import json
import os
import re
import shlex
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "beside")
KUBECTL = os.environ["KUBECTL"]
PATIENCE = float(os.environ.get("PATIENCE", "40"))
# How long a world has to look the same to be taken to be at rest: longer than any of its parts waits for anything.
REST = 3
MEMBERS = ["member1", "member2", "member3"]
# Whole grades of Karmada's resource models, so that its estimates are exact.
CORES = [4, 8, 2]
# What is looked at, in the namespace of a story.
KINDS = [
    "apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets", "batch/v1/jobs", "batch/v1/cronjobs", "v1/configmaps",
    "v1/secrets", "v1/services", "v1/serviceaccounts", "v1/persistentvolumeclaims", "networking.k8s.io/v1/ingresses",
    "policy/v1/poddisruptionbudgets", "autoscaling/v2/horizontalpodautoscalers",
]
# What has no namespace, where its name begins with that of the story.
WIDE_KINDS = ["v1/namespaces", "rbac.authorization.k8s.io/v1/clusterroles", "apiextensions.k8s.io/v1/customresourcedefinitions"]
# Every namespace has these of itself.
BORN = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
# Each installation has its own.
NOT_COMPARED = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "lastScheduledTime",
                "finalizers", "schedulerObservedGeneration", "lastHeartbeatTime", "clusterIP", "clusterIPs"}
# How often something was written differs; that it is counted does not.
GENERATIONS = {"generation", "observedGeneration", "resourceTemplateGeneration"}
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
]


class Server:
    """One API server: kubectl to write with, and requests to look with."""

    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig
        view = subprocess.run([KUBECTL, "--kubeconfig", kubeconfig, "config", "view", "--raw", "--minify", "-o", "json"],
                              check=True, capture_output=True).stdout
        view = json.loads(view)
        cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
        self.url = urllib.parse.urlparse(cluster["server"])
        self.context = ssl.create_default_context(cadata=self.data(cluster, "certificate-authority").decode())
        self.context.check_hostname = False
        self.headers = {"Accept": "application/json"}
        if "token" in user:
            self.headers["Authorization"] = "Bearer " + user["token"]
        if "client-certificate-data" in user or "client-certificate" in user:
            with tempfile.NamedTemporaryFile() as file:
                file.write(self.data(user, "client-certificate") + b"\n" + self.data(user, "client-key"))
                file.flush()
                self.context.load_cert_chain(file.name)
        self.connection = None

    @staticmethod
    def data(of, key):
        if key + "-data" in of:
            return base64.b64decode(of[key + "-data"])
        with open(of[key], "rb") as file:
            return file.read()

    def get(self, path):
        """`None` if there is no such thing."""
        for _ in range(3):
            try:
                self.connection = self.connection or http.client.HTTPSConnection(
                    self.url.hostname, self.url.port, context=self.context, timeout=20)
                self.connection.request("GET", self.url.path.rstrip("/") + path, headers=self.headers)
                answer = self.connection.getresponse()
                body = answer.read()
                return json.loads(body) if answer.status == 200 else None
            except (http.client.HTTPException, OSError):
                self.connection = None
        raise AssertionError(f"{self.kubeconfig}: no answer to {path}")

    def items(self, kind, namespace=None):
        version, plural = kind.rsplit("/", 1)
        start = "/apis/" if "/" in version else "/api/"
        within = f"/namespaces/{namespace}" if namespace else ""
        found = self.get(f"{start}{version}{within}/{plural}") or {"items": []}
        for item in found["items"]:
            item.setdefault("apiVersion", version)
            item.setdefault("kind", found.get("kind", "List")[:-4])
        return found["items"]

    def kubectl(self, args, typed, namespace):
        command = [KUBECTL, "--kubeconfig", self.kubeconfig, "--namespace", namespace, *args]
        return subprocess.run(command, input=typed, capture_output=True, text=True)


class World:
    def __init__(self, name, kubeconfigs):
        self.name = name
        servers = [Server(kubeconfig) for kubeconfig in kubeconfigs.split(",")]
        self.servers = dict(zip(["hub", *MEMBERS], servers))

    def prepare(self):
        """Clusters of different sizes, each with one node that nobody runs anything on."""
        for member, cores in zip(MEMBERS, CORES):
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
            amounts = {"cpu": str(cores), "memory": f"{cores * 8}Gi", "pods": "110"}
            status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
            server = self.servers[member]
            server.kubectl(["apply", "-f", "-"], json.dumps(node), "default")
            for args in (["--subresource=status", "-p", json.dumps({"status": status})], ["-p", '{"spec":{"taints":null}}']):
                done = server.kubectl(["patch", "node", "node", "--type=merge", *args], None, "default")
                assert done.returncode == 0, done.stderr
        deadline = time.monotonic() + 120
        while self.sizes() != [f"{cores}" for cores in CORES]:
            assert time.monotonic() < deadline, f"{self.name}: clusters have {self.sizes()} processors"
            time.sleep(0.5)

    def sizes(self):
        clusters = self.servers["hub"].items("cluster.karmada.io/v1alpha1/clusters")
        clusters.sort(key=lambda cluster: cluster["metadata"]["name"])
        summaries = [cluster.get("status", {}).get("resourceSummary", {}) for cluster in clusters]
        return [str(summary.get("allocatable", {}).get("cpu")) for summary in summaries]

    def look(self, story):
        """Everything that is compared, by what it is and where."""
        seen = {}
        for where, server in self.servers.items():
            found = [item for kind in KINDS + story.kinds for item in server.items(kind, story.namespace)]
            wide = [item for kind in WIDE_KINDS + story.wide for item in server.items(kind)]
            found += [item for item in wide if item["metadata"]["name"].startswith(story.namespace)]
            for item in found:
                if (item["kind"], item["metadata"]["name"]) not in BORN:
                    seen[f"{where} {item['kind']}/{item['metadata']['name']}"] = plain(item)
        hub = self.servers["hub"]
        for kind in ["resourcebindings", "clusterresourcebindings"]:
            for item in hub.items(f"work.karmada.io/v1alpha2/{kind}"):
                if about(item.get("spec", {}).get("resource", {}), story):
                    seen[f"hub {item['kind']}/{item['metadata']['name']}"] = plain(item)
        for item in hub.items("work.karmada.io/v1alpha1/works"):
            manifests = item["spec"].get("workload", {}).get("manifests", [])
            if manifests and about(manifests[0]["metadata"], story):
                seen[f"hub Work/{item['metadata']['namespace']}/{item['metadata']['name']}"] = plain(item)
        for kind in ["apps.karmada.io/v1alpha1/workloadrebalancers"]:
            for item in hub.items(kind):
                if item["metadata"]["name"].startswith(story.namespace):
                    seen[f"hub {item['kind']}/{item['metadata']['name']}"] = plain(item)
        return seen

    def ran(self, story):
        """Every workload in a member says that it runs as it should."""
        for member in MEMBERS:
            server = self.servers[member]
            for item in server.items("apps/v1/deployments", story.namespace):
                count, name = item["spec"].get("replicas", 1), item["metadata"]["name"]
                status = {"observedGeneration": item["metadata"]["generation"], "replicas": count, "readyReplicas": count,
                          "updatedReplicas": count, "availableReplicas": count}
                patch = json.dumps({"status": status})
                done = server.kubectl(["patch", "deployment", name, "--subresource=status", "--type=merge", "-p", patch], None,
                                      story.namespace)
                assert done.returncode == 0, done.stderr


def about(named, story):
    return story.namespace in (named.get("namespace"), named.get("name")) or named.get("name", "").startswith(story.namespace)


def plain(value, key=None):
    """Without what is another in each installation."""
    if isinstance(value, dict):
        own = {"generation"} if key == "metadata" else set()
        kept = {name: plain(inner, name) for name, inner in value.items()
                if name not in NOT_COMPARED | own and not name.startswith("federation.hanse.dev/")}
        return {name: inner for name, inner in kept.items() if inner not in ({}, [], None)}
    if isinstance(value, list):
        if key == "conditions":
            return {item.get("type", "?"): plain(item) for item in value}
        return [plain(item) for item in value]
    if isinstance(value, int) and key in GENERATIONS:
        return "GENERATION"
    if isinstance(value, str):
        for pattern, instead in VARYING:
            value = pattern.sub(instead, value)
        if value[:1] in "{[":
            try:
                return plain(json.loads(value))
            except ValueError:
                pass
    return value


def flat(value, path=""):
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from flat(value[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for at, item in enumerate(value):
            yield from flat(item, f"{path}[{at}]")
    else:
        yield path, value


def differences(karmada, hanse):
    """What one has and the other has not, or has otherwise, as lines."""
    for what in sorted(karmada.keys() | hanse.keys()):
        if what not in hanse:
            yield f"{what}: only Karmada has it"
        elif what not in karmada:
            yield f"{what}: only Hanse has it"
        else:
            one, other = dict(flat(karmada[what])), dict(flat(hanse[what]))
            for path in sorted(one.keys() | other.keys()):
                if one.get(path) != other.get(path):
                    yield f"{what}: {path}: Karmada {told(one, path)}, Hanse {told(other, path)}"


def told(of, path):
    return json.dumps(of[path]) if path in of else "nothing"


def explained():
    """Patterns of differences that are meant to be."""
    with open(os.path.join(HERE, "differences.txt"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [re.compile(line) for line in lines]


class Story:
    def __init__(self, path):
        self.name = os.path.basename(path).removesuffix(".story")
        self.namespace = self.name
        self.kinds, self.wide, self.steps = [], [], []
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("# kinds: "):
                    self.kinds += line[9:].split()
                elif line.startswith("# wide: "):
                    self.wide += line[8:].split()
                elif line.startswith("$ "):
                    self.steps.append((line[2:].strip(), []))
                elif self.steps:
                    self.steps[-1][1].append(line)

    def tell(self, worlds, meant):
        """The differences that are not meant to be."""
        left = []
        for world in worlds:
            deadline = time.monotonic() + 60
            while world.servers["hub"].kubectl(["create", "namespace", self.namespace], None, "default").returncode:
                assert time.monotonic() < deadline, f"{world.name}: namespace {self.namespace} is still there"
                time.sleep(0.5)
        try:
            for number, (command, typed) in enumerate(self.steps):
                if command == "look":
                    left += self.look(worlds, f"{self.name}, step {number + 1}", meant)
                elif not command.startswith("finally "):
                    self.carry_out(worlds, command, "".join(typed))
        finally:
            for command, typed in self.steps:
                if command.startswith("finally "):
                    self.carry_out(worlds, command.removeprefix("finally "), "".join(typed))
            for world in worlds:
                world.servers["hub"].kubectl(["delete", "namespace", self.namespace, "--wait=false"], None, "default")
        return left

    def carry_out(self, worlds, command, typed):
        for world in worlds:
            if command == "ran":
                world.ran(self)
                continue
            words = command.split(" ", 1)
            fails = words[0] == "fails"
            where, rest = words[1].split(" ", 1) if fails else words
            done = world.servers[where].kubectl(shlex.split(rest), typed or None, self.namespace)
            if (done.returncode != 0) != fails:
                raise AssertionError(f"{world.name}: {command}: {done.stdout}{done.stderr}")

    def look(self, worlds, step, meant):
        deadline, since, before = time.monotonic() + PATIENCE, time.monotonic(), None
        while True:
            seen = [world.look(self) for world in worlds]
            if seen != before:
                before, since = seen, time.monotonic()
            lines = [f"{step}: {line}" for line in differences(*seen)]
            lines = [line for line in lines if not any(pattern.search(line) for pattern in meant)]
            rests = time.monotonic() - since > REST
            if (rests and not lines) or time.monotonic() > deadline:
                return lines
            time.sleep(0.2)


def main():
    worlds = [World("Karmada", os.environ["KARMADA"]), World("Hanse", os.environ["BESIDE"])]
    for world in worlds:
        world.prepare()
    meant, wrong = explained(), 0
    names = sys.argv[1:] or sorted(os.path.basename(path).removesuffix(".story") for path in glob.glob(HERE + "/*.story"))
    for name in names:
        began = time.monotonic()
        try:
            left = Story(os.path.join(HERE, name + ".story")).tell(worlds, meant)
        except AssertionError as error:
            left = [f"{name}: {error}"]
        wrong += bool(left)
        print(f"{'different' if left else 'same'}: {name} ({time.monotonic() - began:.0f} s)", flush=True)
        for line in left:
            print("    " + line, flush=True)
    print(f"{len(names) - wrong} of {len(names)} stories are the same", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
