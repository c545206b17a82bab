// Which API packages the table covers. Adding a group version is one line here and its resources in resources.txt.

package main

import (
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// group is one API group version, by the Go package that defines it.
type group struct {
	path  string // Go import path, where the source markers are read
	model string // prefix of its OpenAPI model names
	at    schema.GroupVersion
	add   func(*runtime.Scheme) error
}

const (
	metaPath  = "k8s.io/apimachinery/pkg/apis/meta/v1"
	metaModel = "io.k8s.apimachinery.pkg.apis.meta.v1"
)

func api(name, version string, at schema.GroupVersion, add func(*runtime.Scheme) error) group {
	return group{"k8s.io/api/" + name + "/" + version, "io.k8s.api." + name + "." + version, at, add}
}

// groups is the coverage, in the order the table prints it.
var groups = []group{
	api("core", "v1", corev1.SchemeGroupVersion, corev1.AddToScheme),
	api("admission", "v1", admissionv1.SchemeGroupVersion, admissionv1.AddToScheme),
	api("admissionregistration", "v1", admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1.AddToScheme),
	api("apidiscovery", "v2", apidiscoveryv2.SchemeGroupVersion, apidiscoveryv2.AddToScheme),
	{"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
		apiextensionsv1.SchemeGroupVersion, apiextensionsv1.AddToScheme},
	{"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1", "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
		apiregistrationv1.SchemeGroupVersion, apiregistrationv1.AddToScheme},
	api("apps", "v1", appsv1.SchemeGroupVersion, appsv1.AddToScheme),
	api("authentication", "v1", authenticationv1.SchemeGroupVersion, authenticationv1.AddToScheme),
	api("authorization", "v1", authorizationv1.SchemeGroupVersion, authorizationv1.AddToScheme),
	api("autoscaling", "v1", autoscalingv1.SchemeGroupVersion, autoscalingv1.AddToScheme),
	api("autoscaling", "v2", autoscalingv2.SchemeGroupVersion, autoscalingv2.AddToScheme),
	api("batch", "v1", batchv1.SchemeGroupVersion, batchv1.AddToScheme),
	api("certificates", "v1", certificatesv1.SchemeGroupVersion, certificatesv1.AddToScheme),
	api("coordination", "v1", coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme),
	api("discovery", "v1", discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme),
	api("events", "v1", eventsv1.SchemeGroupVersion, eventsv1.AddToScheme),
	api("flowcontrol", "v1", flowcontrolv1.SchemeGroupVersion, flowcontrolv1.AddToScheme),
	api("networking", "v1", networkingv1.SchemeGroupVersion, networkingv1.AddToScheme),
	api("node", "v1", nodev1.SchemeGroupVersion, nodev1.AddToScheme),
	api("policy", "v1", policyv1.SchemeGroupVersion, policyv1.AddToScheme),
	api("rbac", "v1", rbacv1.SchemeGroupVersion, rbacv1.AddToScheme),
	api("resource", "v1", resourcev1.SchemeGroupVersion, resourcev1.AddToScheme),
	api("scheduling", "v1", schedulingv1.SchemeGroupVersion, schedulingv1.AddToScheme),
	api("storage", "v1", storagev1.SchemeGroupVersion, storagev1.AddToScheme),
	api("storagemigration", "v1", storagemigrationv1.SchemeGroupVersion, storagemigrationv1.AddToScheme),
	{metaPath, metaModel, metav1.SchemeGroupVersion, metav1.AddMetaToScheme},
}

// metaKinds are the kinds of meta/v1 that travel on their own; its scheme registers only some of them there.
var metaKinds = []any{
	metav1.APIGroup{}, metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.APIVersions{}, metav1.Status{},
	metav1.ListOptions{}, metav1.GetOptions{}, metav1.DeleteOptions{}, metav1.CreateOptions{}, metav1.UpdateOptions{},
	metav1.PatchOptions{}, metav1.ApplyOptions{}, metav1.List{}, metav1.WatchEvent{},
	metav1.Table{}, metav1.TableOptions{}, metav1.PartialObjectMetadata{}, metav1.PartialObjectMetadataList{},
}

// newScheme knows every group of the table.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, g := range groups {
		must(g.add(scheme))
	}
	return scheme
}
