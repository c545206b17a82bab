"""The Python client against the server of $KUBECONFIG: lists, watches and patches, and what it makes of refusals."""

import unittest

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException


class Client(unittest.TestCase):
    """A namespace for each test, and a typed client."""

    def setUp(self):
        config.load_kube_config()
        self.core = client.CoreV1Api()
        made = self.core.create_namespace({"metadata": {"generateName": "python-"}})
        self.namespace = made.metadata.name
        self.addCleanup(self.core.delete_namespace, self.namespace)

    def make(self, name, labels=None, data=None):
        body = {"metadata": {"name": name, "labels": labels}, "data": data or {"k": "v"}}
        return self.core.create_namespaced_config_map(self.namespace, body)

    def listed(self, **how):
        return self.core.list_namespaced_config_map(self.namespace, **how)

    def test_lists_choose_and_come_in_pages(self):
        for name, side in [("a", "left"), ("b", "right"), ("c", "left")]:
            self.make(name, {"side": side})
        chosen = self.listed(label_selector="side=left")
        self.assertEqual([item.metadata.name for item in chosen.items], ["a", "c"])
        names, token = [], None
        while token != "":
            page = self.listed(label_selector="side", limit=2, _continue=token)
            names += [item.metadata.name for item in page.items]
            token = page.metadata._continue or ""
        self.assertEqual(names, ["a", "b", "c"])

    def test_a_watch_tells_what_happens_and_ends_when_it_said(self):
        since = self.listed().metadata.resource_version
        made = self.make("a", data={"k": "1"})
        self.core.patch_namespaced_config_map("a", self.namespace, {"data": {"k": "2"}})
        self.core.delete_namespaced_config_map("a", self.namespace)
        told = []
        how = {"resource_version": since, "field_selector": "metadata.name=a", "timeout_seconds": 30}
        stream = watch.Watch()
        for event in stream.stream(self.core.list_namespaced_config_map, self.namespace, **how):
            told.append((event["type"], event["object"].data["k"]))
            if event["type"] == "DELETED":
                stream.stop()
        self.assertEqual(told, [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")])
        self.assertEqual(made.metadata.namespace, self.namespace)

    def test_patches_and_stale_writes(self):
        made = self.make("a")
        patched = self.core.patch_namespaced_config_map("a", self.namespace, {"metadata": {"labels": {"x": "y"}}})
        self.assertEqual(patched.metadata.labels, {"x": "y"})
        made.data["k"] = "stale"
        with self.assertRaises(ApiException) as refused:
            self.core.replace_namespaced_config_map("a", self.namespace, made)
        self.assertEqual((refused.exception.status, refused.exception.reason), (409, "Conflict"))

    def test_refusals_have_a_body_that_says_why(self):
        with self.assertRaises(ApiException) as refused:
            self.core.read_namespaced_config_map("missing", self.namespace)
        self.assertEqual(refused.exception.status, 404)
        self.assertIn('configmaps \\"missing\\" not found', refused.exception.body)


if __name__ == "__main__":
    unittest.main()
