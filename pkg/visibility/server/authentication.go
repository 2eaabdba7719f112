// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

const (
	// authenticationConfigMap in kube-system has the authorities of client certificates and the rules for forwarded requests of an API
	// server.
	authenticationConfigMap = "extension-apiserver-authentication"
	// reviewsLast is how long answers of the API server are cached, as in Kubernetes' components.
	reviewsLast = 10 * time.Second
	// reviewTimeout limits how long a review of the API server may take.
	reviewTimeout = 10 * time.Second
)

// reviewBackoff is Kubernetes' default.
var reviewBackoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// access authenticates requests and authorizes their users. It asks the API server for both.
type access struct {
	authenticator.Request
	authorizer.Authorizer
	// clients are the authorities of client certificates, of users and of API servers that forward requests.
	clients dynamiccertificates.CAContentProvider
	// forwarding are the rules for requests that API servers forward.
	forwarding *authenticatorfactory.RequestHeaderConfig
	followers  []dynamiccertificates.ControllerRunner
}

// newAccess returns the access rules of a cluster. Only tokens are accepted before follow has read the authorities of certificates.
func newAccess(client kubernetes.Interface) (*access, error) {
	users, err := authorities(client, "client-ca-file")
	if err != nil {
		return nil, err
	}
	proxies, err := authorities(client, "requestheader-client-ca-file")
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(authenticationConfigMap, metav1.NamespaceSystem, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix",
		"requestheader-allowed-names")
	a := &access{
		clients:   dynamiccertificates.NewUnionCAContentProvider(users, proxies),
		followers: []dynamiccertificates.ControllerRunner{users, proxies, headers},
		forwarding: &authenticatorfactory.RequestHeaderConfig{
			CAContentProvider:   proxies,
			UsernameHeaders:     headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
			UIDHeaders:          headerrequest.StringSliceProviderFunc(headers.UIDHeaders),
			GroupHeaders:        headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
			ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes),
			AllowedClientNames:  headerrequest.StringSliceProviderFunc(headers.AllowedClientNames),
		},
	}
	a.Request, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout, WebhookRetryBackoff: &reviewBackoff,
		CacheTTL: reviewsLast, ClientCertificateCAContentProvider: users, RequestHeaderConfig: a.forwarding,
	}.New()
	if err != nil {
		return nil, err
	}
	a.Authorizer, err = newAuthorizer(client)
	return a, err
}

// newAuthorizer returns an authorizer that allows everything to system:masters, and reviews all other requests.
func newAuthorizer(client kubernetes.Interface) (authorizer.Authorizer, error) {
	reviews, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: reviewsLast, DenyCacheTTL: reviewsLast, WebhookRetryBackoff: &reviewBackoff,
	}.New()
	if err != nil {
		return nil, err
	}
	return union.New(authorizerfactory.NewPrivilegedGroups("system:masters"), reviews), nil
}

func authorities(client kubernetes.Interface, key string) (*dynamiccertificates.ConfigMapCAController, error) {
	return dynamiccertificates.NewDynamicCAFromConfigMapController(key, metav1.NamespaceSystem, authenticationConfigMap, key, client)
}

// follow reads the cluster's authorities of certificates, and their changes, until ctx ends.
func (a *access) follow(ctx context.Context) {
	for _, follower := range a.followers {
		go follower.Run(ctx, 1)
	}
}
