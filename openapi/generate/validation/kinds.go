package main

import (
	"context"
	"fmt"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/authentication"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	authenticationvalidation "k8s.io/kubernetes/pkg/apis/authentication/validation"
	"k8s.io/kubernetes/pkg/apis/authorization"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	authorizationvalidation "k8s.io/kubernetes/pkg/apis/authorization/validation"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/certificates/certificates"
	"k8s.io/kubernetes/pkg/registry/certificates/clustertrustbundle"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/endpoint"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/discovery/endpointslice"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
	"k8s.io/kubernetes/pkg/registry/storagemigration/storagemigration"
)

var extensionsScheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	extensions.Install(scheme)
	return scheme
}()

// Nobody asks who may read what a policy names.
var resolved = resolver.ResourceResolverFunc(func(schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return schema.GroupVersionResource{}, nil
})

var validating = validatingadmissionpolicy.NewStrategy(nil, resolved)

// Strategy is what the server knows to do with a kind.
type Strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

var strategies = map[string][2]any{
	"v1 ConfigMap":             {configmap.Strategy},
	"v1 Endpoints":             {endpoint.Strategy},
	"v1 Event":                 {event.Strategy},
	"v1 LimitRange":            {limitrange.Strategy},
	"v1 Namespace":             {namespace.Strategy, namespace.StatusStrategy},
	"v1 Node":                  {node.Strategy, node.StatusStrategy},
	"v1 PersistentVolume":      {persistentvolume.Strategy, persistentvolume.StatusStrategy},
	"v1 PersistentVolumeClaim": {persistentvolumeclaim.Strategy, persistentvolumeclaim.StatusStrategy},
	"v1 Pod":                   {pod.Strategy, pod.StatusStrategy},
	"v1 PodTemplate":           {podtemplate.Strategy},
	"v1 ReplicationController": {replicationcontroller.Strategy, replicationcontroller.StatusStrategy},
	"v1 ResourceQuota":         {resourcequota.Strategy, resourcequota.StatusStrategy},
	"v1 Secret":                {secret.Strategy},
	"v1 Service":               {service.Strategy, service.StatusStrategy},
	"v1 ServiceAccount":        {serviceaccount.Strategy},
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration":     {mutatingwebhookconfiguration.Strategy},
	"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":   {validatingwebhookconfiguration.Strategy},
	"admissionregistration.k8s.io/v1 MutatingAdmissionPolicy":          {mutatingadmissionpolicy.NewStrategy(nil, resolved)},
	"admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding":   {mutatingadmissionpolicybinding.NewStrategy(nil, nil, resolved)},
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy":        {validating, validatingadmissionpolicy.NewStatusStrategy(validating)},
	"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding": {validatingadmissionpolicybinding.NewStrategy(nil, nil, resolved)},
	"apiextensions.k8s.io/v1 CustomResourceDefinition":                 {customresourcedefinition.NewStrategy(extensionsScheme), customresourcedefinition.NewStatusStrategy(extensionsScheme)},
	"apiregistration.k8s.io/v1 APIService":                             {apiservice.NewStrategy(aggregatorscheme.Scheme)},
	"apps/v1 ControllerRevision":                                       {controllerrevision.Strategy},
	"apps/v1 DaemonSet":                                                {daemonset.Strategy, daemonset.StatusStrategy},
	"apps/v1 Deployment":                                               {deployment.Strategy, deployment.StatusStrategy},
	"apps/v1 ReplicaSet":                                               {replicaset.Strategy, replicaset.StatusStrategy},
	"apps/v1 StatefulSet":                                              {statefulset.Strategy, statefulset.StatusStrategy},
	"autoscaling/v1 HorizontalPodAutoscaler":                           {horizontalpodautoscaler.Strategy, horizontalpodautoscaler.StatusStrategy},
	"autoscaling/v2 HorizontalPodAutoscaler":                           {horizontalpodautoscaler.Strategy, horizontalpodautoscaler.StatusStrategy},
	"batch/v1 CronJob":                                                 {cronjob.Strategy, cronjob.StatusStrategy},
	"batch/v1 Job":                                                     {job.Strategy, job.StatusStrategy},
	"certificates.k8s.io/v1 CertificateSigningRequest":                 {certificates.Strategy, certificates.StatusStrategy},
	"coordination.k8s.io/v1 Lease":                                     {lease.Strategy},
	"discovery.k8s.io/v1 EndpointSlice":                                {endpointslice.Strategy},
	"events.k8s.io/v1 Event":                                           {event.Strategy},
	"flowcontrol.apiserver.k8s.io/v1 FlowSchema":                       {flowschema.Strategy, flowschema.StatusStrategy},
	"flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration":       {prioritylevelconfiguration.Strategy, prioritylevelconfiguration.StatusStrategy},
	"networking.k8s.io/v1 IPAddress":                                   {ipaddress.Strategy},
	"networking.k8s.io/v1 Ingress":                                     {ingress.Strategy, ingress.StatusStrategy},
	"networking.k8s.io/v1 IngressClass":                                {ingressclass.Strategy},
	"networking.k8s.io/v1 NetworkPolicy":                               {networkpolicy.Strategy},
	"networking.k8s.io/v1 ServiceCIDR":                                 {servicecidr.Strategy, servicecidr.StatusStrategy},
	"node.k8s.io/v1 RuntimeClass":                                      {runtimeclass.Strategy},
	"policy/v1 PodDisruptionBudget":                                    {poddisruptionbudget.Strategy, poddisruptionbudget.StatusStrategy},
	"rbac.authorization.k8s.io/v1 ClusterRole":                         {clusterrole.Strategy},
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding":                  {clusterrolebinding.Strategy},
	"rbac.authorization.k8s.io/v1 Role":                                {role.Strategy},
	"rbac.authorization.k8s.io/v1 RoleBinding":                         {rolebinding.Strategy},
	"scheduling.k8s.io/v1 PriorityClass":                               {priorityclass.Strategy},
	"storage.k8s.io/v1 CSIDriver":                                      {csidriver.Strategy},
	"storage.k8s.io/v1 CSINode":                                        {csinode.Strategy},
	"storage.k8s.io/v1 CSIStorageCapacity":                             {csistoragecapacity.Strategy},
	"storage.k8s.io/v1 StorageClass":                                   {storageclass.Strategy},
	"storage.k8s.io/v1 VolumeAttachment":                               {volumeattachment.Strategy, volumeattachment.StatusStrategy},
	"storage.k8s.io/v1 VolumeAttributesClass":                          {volumeattributesclass.Strategy},
	"certificates.k8s.io/v1 ClusterTrustBundle":                        {clustertrustbundle.Strategy},
	"certificates.k8s.io/v1 PodCertificateRequest":                     {podcertificaterequest.NewStrategy()},
	"resource.k8s.io/v1 DeviceTaintRule":                               {devicetaintrule.Strategy, devicetaintrule.StatusStrategy},
	"resource.k8s.io/v1 ResourceSlice":                                 {resourceslice.Strategy},
	"storagemigration.k8s.io/v1 StorageVersionMigration":               {storagemigration.Strategy, storagemigration.StatusStrategy},
}

// Review judges an object that is not kept.
type Review func(context.Context, runtime.Object) field.ErrorList

var reviews = map[string]Review{
	"authorization.k8s.io/v1 SubjectAccessReview": func(ctx context.Context, object runtime.Object) field.ErrorList {
		return authorizationvalidation.ValidateSubjectAccessReviewCreate(ctx, legacyscheme.Scheme, object.(*authorization.SubjectAccessReview))
	},
	"authorization.k8s.io/v1 SelfSubjectAccessReview": func(ctx context.Context, object runtime.Object) field.ErrorList {
		return authorizationvalidation.ValidateSelfSubjectAccessReviewCreate(ctx, legacyscheme.Scheme, object.(*authorization.SelfSubjectAccessReview))
	},
	"authorization.k8s.io/v1 LocalSubjectAccessReview": func(ctx context.Context, object runtime.Object) field.ErrorList {
		return authorizationvalidation.ValidateLocalSubjectAccessReviewCreate(ctx, legacyscheme.Scheme, object.(*authorization.LocalSubjectAccessReview))
	},
	"authentication.k8s.io/v1 TokenRequest": func(_ context.Context, object runtime.Object) field.ErrorList {
		return authenticationvalidation.ValidateTokenRequest(object.(*authentication.TokenRequest))
	},
	"v1 Binding": func(_ context.Context, object runtime.Object) field.ErrorList {
		return corevalidation.ValidatePodBinding(object.(*core.Binding))
	},
}

func find(words []string) (*Kind, error) {
	if len(words) != 2 {
		return nil, fmt.Errorf("kind <apiVersion> <Kind>")
	}
	version, err := schema.ParseGroupVersion(words[0])
	if err != nil {
		return nil, err
	}
	name := words[0] + " " + words[1]
	if review, ok := reviews[name]; ok {
		return &Kind{version: version, kind: words[1], review: review}, nil
	}
	found, ok := strategies[name]
	if !ok {
		return nil, fmt.Errorf("no strategy is known")
	}
	kind := &Kind{version: version, kind: words[1], strategy: found[0].(Strategy)}
	kind.status, _ = found[1].(rest.RESTUpdateStrategy)
	return kind, nil
}

func codecs(version schema.GroupVersion) serializer.CodecFactory {
	if version.Group == "apiregistration.k8s.io" {
		return aggregatorscheme.Codecs
	}
	if version.Group == "apiextensions.k8s.io" {
		return serializer.NewCodecFactory(extensionsScheme)
	}
	return legacyscheme.Codecs
}
