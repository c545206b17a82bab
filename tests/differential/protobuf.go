package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func init() {
	// Lists of metadata, which no client of a kind knows.
	metav1.AddToGroupVersion(scheme.Scheme, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
}

// fromProtobuf decodes as clients do, and says the same in JSON.
func fromProtobuf(body []byte) any {
	object, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(body, nil, nil)
	if err != nil {
		return "not decoded: " + err.Error()
	}
	return asTree(object)
}

func asTree(object runtime.Object) any {
	text, err := json.Marshal(object)
	if err != nil {
		return "not encoded: " + err.Error()
	}
	return tree(text, "application/json")
}
