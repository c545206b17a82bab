// The decoding of a Kubernetes API server, for all the groups that the table covers.

package main

import (
	"bytes"
	"encoding/json"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apimachinery/pkg/runtime"
	jsoncodec "k8s.io/apimachinery/pkg/runtime/serializer/json"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

type server struct {
	decoder runtime.Decoder
	json    *jsoncodec.Serializer
}

func newServer() *server {
	apiextensions.Install(legacyscheme.Scheme)
	apiregistration.Install(legacyscheme.Scheme)
	strict := jsoncodec.SerializerOptions{Strict: true}
	return &server{
		decoder: legacyscheme.Codecs.UniversalDecoder(),
		json:    jsoncodec.NewSerializerWithOptions(jsoncodec.DefaultMetaFactory, legacyscheme.Scheme, legacyscheme.Scheme, strict),
	}
}

// plain is the object as its Go type prints it, without defaults.
func (s *server) plain(text []byte) ([]byte, error) {
	object, _, err := s.json.Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// decoded is the object as the server holds it, printed in the version in which it came.
func (s *server) decoded(text []byte) ([]byte, error) {
	object, kind, err := s.decoder.Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = legacyscheme.Codecs.EncoderForVersion(s.json, kind.GroupVersion()).Encode(object, &out)
	return bytes.TrimSpace(out.Bytes()), err
}
