// SPDX-License-Identifier: Apache-2.0

package members

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
)

func TestAConnectionIsWhatTheClusterAndItsSecretSay(t *testing.T) {
	spec := clusterv1alpha1.ClusterSpec{
		SyncMode: clusterv1alpha1.Push, APIEndpoint: "https://member:6443", SecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: "ns", Name: "s"},
		ProxyURL: "http://proxy:3128", ProxyHeader: map[string]string{"x-one": "1,2", "x-two": "3"},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: map[string][]byte{"token": []byte("t"), "caBundle": []byte("ca")}}
	via, err := connectionTo(&spec, secret)
	if err != nil {
		t.Fatal(err)
	}
	config, err := via.config()
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://member:6443" || config.BearerToken != "t" || string(config.CAData) != "ca" || config.Insecure || config.Timeout != 0 {
		t.Errorf("config %v", config)
	}
	if proxy, err := config.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: "member"}}); err != nil || proxy.String() != "http://proxy:3128" {
		t.Errorf("proxy %v, %v", proxy, err)
	}
	wrapped := config.WrapTransport(&http.Transport{}).(*http.Transport)
	if diff := cmp.Diff(http.Header{"X-One": {"1", "2"}, "X-Two": {"3"}}, wrapped.ProxyConnectHeader); diff != "" {
		t.Error(diff)
	}
	spec.InsecureSkipTLSVerification, secret.Data["caBundle"] = true, nil
	if via, err = connectionTo(&spec, secret); err != nil || !via.insecure {
		t.Errorf("insecure %+v, %v", via, err)
	}
}

func TestWhatIsMissingForAConnectionIsSaid(t *testing.T) {
	ref := &clusterv1alpha1.LocalSecretReference{Namespace: "ns", Name: "s"}
	for name, c := range map[string]struct {
		spec clusterv1alpha1.ClusterSpec
		data map[string][]byte
		want string
	}{
		"pull":        {spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull}, want: "its syncMode is Pull"},
		"no endpoint": {spec: clusterv1alpha1.ClusterSpec{SecretRef: ref}, want: "its spec.apiEndpoint is empty"},
		"no secret":   {spec: clusterv1alpha1.ClusterSpec{APIEndpoint: "e"}, want: "its spec.secretRef names no Secret"},
		"no token":    {spec: clusterv1alpha1.ClusterSpec{APIEndpoint: "e", SecretRef: ref}, want: "the Secret ns/s has no token: add it"},
		"no CA":       {spec: clusterv1alpha1.ClusterSpec{APIEndpoint: "e", SecretRef: ref}, data: map[string][]byte{"token": []byte("t")}, want: "the Secret ns/s has no caBundle: add it"},
		"no proxy": {spec: clusterv1alpha1.ClusterSpec{APIEndpoint: "e", SecretRef: ref, InsecureSkipTLSVerification: true, ProxyURL: ":"}, data: map[string][]byte{"token": []byte("t")},
			want: "its spec.proxyURL is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			err := hasSecret(&c.spec)
			if err == nil {
				var via connection
				if via, err = connectionTo(&c.spec, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Data: c.data}); err == nil {
					_, err = via.config()
				}
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
