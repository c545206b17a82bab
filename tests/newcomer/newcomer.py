"""Somebody who has never seen Hanse: starts it in a terminal, types what it prints, and then tries the examples.

    HANSE=BINARY TOOLS=FOLDER_OF_KUBECTL tests/newcomer/newcomer.py
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from stage import ENVIRONMENT, EXAMPLES, HANSE, PATIENCE, Terminal, plain


def shell(script):
    done = subprocess.run(["bash", "-ec", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        raise AssertionError(f"{script}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def eventually(what, holds):
    deadline = time.monotonic() + PATIENCE
    last = None
    while time.monotonic() < deadline:
        try:
            last = holds()
            if last:
                print("ok:", what, flush=True)
                return
        except AssertionError as error:
            last = error
        time.sleep(0.1)
    raise AssertionError(f"never: {what}\n{last}")


def types_what_it_prints(greeting):
    """The six commands, as they stand there."""
    lines = [line.strip() for line in greeting.splitlines() if line.startswith("  ")]
    steps = [line for line in lines if not line.startswith("#")]
    assert len(steps) == 6 and steps[0].startswith("export KUBECONFIG="), greeting
    ENVIRONMENT["KUBECONFIG"] = steps[0].removeprefix("export KUBECONFIG=")
    assert all(city in shell(steps[1]) for city in ("dfw", "ams", "nrt"))
    shell(steps[2])
    eventually("its status comes back", lambda: "6/6" in shell("kubectl get deployment web"))
    explained = shell(steps[3])
    for words in ("placed in 2 of 3 cells", "ams: applied, 3 replicas", "dfw: applied, 3 replicas", "nrt:"):
        assert words in explained, explained
    assert "3/3" in shell(steps[4])
    assert "3 of 3 cells ready, 1 object placed, 0 pending" in shell(steps[5])
    print("ok: what it prints can be typed", flush=True)


def deletes_it_again():
    shell("kubectl delete -k " + os.path.join(EXAMPLES, "two-cities"))
    eventually("what is deleted is gone from the cell", lambda: not shell("kubectl --context dfw get deployments -o name"))


def uses_it_as_a_plugin_of_kubectl(folder):
    """kubectl finds it by its name."""
    os.symlink(HANSE, os.path.join(folder, "kubectl-hanse"))
    with_plugin = f"PATH={folder}:$PATH kubectl "
    assert os.path.join(folder, "kubectl-hanse") in shell(with_plugin + "plugin list")
    assert "3 of 3 cells ready" in shell(with_plugin + "hanse status")
    assert "placed in 2 of 3 cells" in shell(with_plugin + "hanse explain deploy/web")
    print("ok: kubectl hanse", flush=True)


def get(context, what):
    return json.loads(shell(f"kubectl --context {context} get {what} -o json"))


def apply(context, example):
    shell(f"kubectl --context {context} apply -k {os.path.join(EXAMPLES, example)}")


def image(context):
    return get(context, "deployment nginx")["spec"]["template"]["spec"]["containers"][0]["image"]


def tries_karmadas_policies():
    apply("default", "karmada")
    eventually("replicas are divided by weight", lambda: [get(cell, "deployment nginx")["spec"]["replicas"] for cell in ("dfw", "ams")] == [1, 2])
    assert (image("dfw"), image("ams")) == ("registry.example/nginx:1.29", "registry.eu.example/nginx:1.29")
    eventually("and reported as one", lambda: "3/3" in shell("kubectl get deployment nginx"))


def tries_overrides():
    apply("default", "overrides-by-region")
    currency = lambda cell: get(cell, "configmap shop")["data"]["currency"]
    eventually("Europe is different", lambda: [currency(cell) for cell in ("dfw", "ams", "nrt")] == ["USD", "EUR", "USD"])


def tries_label_join():
    apply("root", "label-join/platform")
    server = shell("kubectl config view --minify --context root -o 'jsonpath={.clusters[0].cluster.server}'")
    for project in ("north", "south"):
        shell(f"kubectl --server {server}:{project} apply -k {os.path.join(EXAMPLES, 'label-join/project')}")
    selector = "-A -o name -l topology.datum.net/city-code=nrt"
    eventually("two projects are side by side in one cell", lambda: len(shell(f"kubectl --context nrt get configmaps {selector}").split()) == 2)
    assert not shell(f"kubectl --context dfw get configmaps {selector}")


def tries_a_kind_of_their_own():
    apply("default", "workload-by-city/platform")
    apply("default", "workload-by-city/project")
    eventually("the kind and the object are in the cell", lambda: get("ams", "workload api"))
    shell("""kubectl --context ams patch workload api --subresource=status --type=merge -p '{"status":{"running":2}}'""")
    eventually("what the cell says comes back", lambda: get("default", "workload api").get("status", {}).get("running") == 2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        hanse = Terminal(HANSE, "dev", "--data-dir", data, "--listen", "127.0.0.1:0")
        types_what_it_prints(plain(hanse.until("Ctrl-C stops the server")))
        uses_it_as_a_plugin_of_kubectl(folder)
        deletes_it_again()
        tries_karmadas_policies()
        tries_overrides()
        tries_label_join()
        tries_a_kind_of_their_own()
        print(shell(f"{HANSE} status"))
        shell(f"{HANSE} fsck")
        assert hanse.interrupt() == 0, "it did not end well"
        again = Terminal(HANSE, "dev", "--data-dir", data, "--listen", "127.0.0.1:0")
        again.until("Ctrl-C stops the server")
        assert "3/3" in shell("kubectl get deployment nginx")
        assert again.interrupt() == 0
    print("everything holds")


if __name__ == "__main__":
    sys.exit(main())
