// An authorizer whose reasons tell what it was asked.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/library"
)

type parrot struct{}

// Authorize allows what only reads, denies "create", has no opinion on the rest, and fails on "fail".
func (parrot) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	reason := fmt.Sprintf("user=%s verb=%s path=%s group=%s resource=%s/%s object=%s/%s",
		a.GetUser().GetName(), a.GetVerb(), a.GetPath(), a.GetAPIGroup(), a.GetResource(), a.GetSubresource(), a.GetNamespace(), a.GetName())
	switch a.GetVerb() {
	case "get", "list", "watch":
		return authorizer.DecisionAllow, reason, nil
	case "create":
		return authorizer.DecisionDeny, reason, nil
	case "fail":
		return authorizer.DecisionNoOpinion, reason, errors.New("the authorizer is away")
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// The object that a request is about.
type request struct{}

func (request) GetName() string        { return "web" }
func (request) GetNamespace() string   { return "shop" }
func (request) GetSubresource() string { return "scale" }
func (request) GetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

func authorizerValue() ref.Val {
	return library.NewAuthorizerVal(&user.DefaultInfo{Name: "ann"}, parrot{})
}

func requestResourceValue() ref.Val {
	return library.NewResourceAuthorizerVal(&user.DefaultInfo{Name: "ann"}, parrot{}, request{})
}
